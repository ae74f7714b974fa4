-- ledger.is_member and its kin: who the session is, and of which group.
\ir ../_support/fixture.psql
select plan(14);

create role direct login;
create role indirect login;
create role heirless login noinherit;
create role chief login superuser;
create role team;
grant fencepost_worker to direct, team, heirless;
grant team to indirect;

select is(
    ledger.is_member('direct'::regrole, 'fencepost_worker'), true,
    'ledger.is_member is true of a direct, inheriting member'
);
select is(
    ledger.is_member('direct'::regrole, 'fencepost_verifier'), false,
    'ledger.is_member is false of another group'
);
select is(
    ledger.is_member('indirect'::regrole, 'fencepost_worker'), false,
    'ledger.is_member is false of a member of a member'
);
select is(
    pg_has_role('indirect', 'fencepost_worker', 'usage'), true,
    'ledger.is_member differs there from pg_has_role'
);
select is(
    ledger.is_member('heirless'::regrole, 'fencepost_worker'), false,
    'ledger.is_member is false of a member that does not inherit'
);
select is(
    ledger.is_member('chief'::regrole, 'fencepost_worker'), false,
    'ledger.is_member is false of a superuser'
);
select is(
    ledger.is_member('direct'::regrole, 'no such group'), false,
    'ledger.is_member is false where there is no such group'
);
select is(ledger.is_member(null, 'fencepost_worker'), false, 'ledger.is_member is false of nobody');

select current_setting('server_version_num')::integer >= 160000 as has_inherit_option
\gset
\if :has_inherit_option
revoke fencepost_worker from direct;
grant fencepost_worker to direct with inherit false, set true;
select is(
    ledger.is_member('direct'::regrole, 'fencepost_worker'), false,
    'ledger.is_member is false of a membership that is not inherited'
);
revoke fencepost_worker from heirless;
grant fencepost_worker to heirless with inherit true;
select is(
    ledger.is_member('heirless'::regrole, 'fencepost_worker'), true,
    'ledger.is_member asks the membership, not the role, from PostgreSQL 16 on'
);
\else
alter role direct noinherit;
select is(
    ledger.is_member('direct'::regrole, 'fencepost_worker'), false,
    'ledger.is_member is false of a role that was made not to inherit'
);
alter role heirless inherit;
select is(
    ledger.is_member('heirless'::regrole, 'fencepost_worker'), true,
    'ledger.is_member asks the role whether it inherits before PostgreSQL 16'
);
\endif

-- The session, not the role that was set.
grant usage on schema ledger to public;
grant execute on function ledger.session_oid(), ledger.session_is(text), ledger.is_member(oid, text)
    to public;
set local session authorization worker_1;
select is(
    ledger.session_oid(), 'worker_1'::regrole::oid, 'ledger.session_oid is the LOGIN role''s'
);
select is(ledger.session_is('worker'), true, 'ledger.session_is knows its duty');
select is(ledger.session_is('admin'), false, 'ledger.session_is knows what it is not');
set local role fencepost_worker;
select is(
    ledger.session_oid(), 'worker_1'::regrole::oid,
    'ledger.session_oid stays the LOGIN role''s whatever role was set'
);
reset role;

reset session authorization;
select finish();
rollback;
