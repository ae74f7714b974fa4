-- Deploy fencepost:campaign/transition to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.transition (
    transition      text    not null,
    from_state      text    not null,
    to_state        text    not null,
    duties          text[]  not null,
    lease           text    not null,
    generation_step integer not null,
    operations      text    not null default 'spares',

    constraint transition_pk primary key (transition, from_state, to_state),
    constraint transition_lease_is_known
        check (lease in ('takes', 'keeps', 'returns', 'revokes', 'none', 'stays')),
    constraint transition_raises_with_every_grant_and_revocation
        check (generation_step > 0 or lease not in ('takes', 'revokes')),
    constraint transition_never_lowers_the_generation check (generation_step >= 0),
    constraint transition_operations_are_known
        check (operations in ('closed', 'unstarted', 'settles', 'spares'))
);

comment on table ledger.transition is
    'The legal moves of a campaign. A move that is not a row here cannot be made, nor logged.';
comment on column ledger.transition.from_state is '"none" where the campaign opens.';
comment on column ledger.transition.duties is
    'Who makes it: the session''s principal is in one of the groups fencepost_<duty>.';
comment on column ledger.transition.lease is
    'What becomes of the lease: its maker takes it, keeps it or returns it; it is revoked from '
    'whoever holds it; it stays with its holder, who is somebody else; or there is none.';
comment on column ledger.transition.generation_step is
    'By how much the generation rises, so that whoever held an earlier one is told it is stale.';

comment on column ledger.transition.operations is
    'What it means for the campaign''s external operations: all must be closed; none may be '
    'started or unknown, and others are released (unstarted); it settles them, what is started '
    'becomes unknown and the rest is released; or it spares them.';

insert into ledger.transition
    (transition, from_state, to_state, duties, lease, generation_step, operations)
values
    ('open',               'none',      'ready',     '{sensor,admin}', 'none',    0, 'spares'),
    ('claim',              'ready',     'leased',    '{worker}',       'takes',   1, 'spares'),
    ('submit',             'leased',    'attempted', '{worker}',       'returns', 0, 'closed'),
    ('fail',               'leased',    'ready',     '{worker}',       'returns', 0, 'settles'),
    ('fail',               'leased',    'parked',    '{worker}',       'returns', 0, 'settles'),
    ('release',            'leased',    'ready',     '{worker}',       'returns', 0, 'settles'),
    ('release',            'leased',    'parked',    '{worker}',       'returns', 0, 'settles'),
    ('lose',               'leased',    'ready',     '{reaper,admin}', 'revokes', 1, 'settles'),
    ('lose',               'leased',    'parked',    '{reaper,admin}', 'revokes', 1, 'settles'),
    ('claim_verification', 'attempted', 'verifying', '{verifier}',     'takes',   1, 'spares'),
    ('accept',             'verifying', 'promoting', '{verifier}',     'keeps',   0, 'closed'),
    ('accept',             'verifying', 'verified',  '{verifier}',     'returns', 0, 'closed'),
    ('reject',             'verifying', 'ready',     '{verifier}',     'returns', 0, 'unstarted'),
    ('reject',             'verifying', 'parked',    '{verifier}',     'returns', 0, 'unstarted'),
    ('abstain',            'verifying', 'attempted', '{verifier}',     'returns', 0, 'unstarted'),
    ('abstain',            'verifying', 'parked',    '{verifier}',     'returns', 0, 'unstarted'),
    ('lose_verification',  'verifying', 'attempted', '{reaper,admin}', 'revokes', 1, 'settles'),
    ('lose_verification',  'verifying', 'parked',    '{reaper,admin}', 'revokes', 1, 'settles'),
    ('claim_promotion',    'accepted',  'promoting', '{verifier}',     'takes',   1, 'spares'),
    ('lose_promotion',     'promoting', 'accepted',  '{reaper,admin}', 'revokes', 1, 'settles'),
    ('lose_promotion',     'promoting', 'parked',    '{reaper,admin}', 'revokes', 1, 'settles'),
    ('promote',            'promoting', 'verified',  '{verifier}',     'returns', 0, 'closed'),
    ('outdate',            'promoting', 'ready',     '{verifier}',     'returns', 0, 'unstarted'),
    ('outdate',            'promoting', 'parked',    '{verifier}',     'returns', 0, 'unstarted'),
    ('confirm',            'verified',  'confirmed', '{sensor}',       'none',    0, 'closed'),
    ('contradict',         'verified',  'ready',     '{sensor}',       'none',    0, 'spares'),
    ('contradict',         'verified',  'parked',    '{sensor}',       'none',    0, 'spares'),
    ('lapse',              'ready',     'lapsed',    '{sensor}',       'none',    0, 'closed'),
    ('expire',             'ready',     'parked',    '{reaper}',       'none',    0, 'spares'),
    ('expire',             'attempted', 'parked',    '{reaper}',       'none',    0, 'spares'),
    ('expire',             'accepted',  'parked',    '{reaper}',       'none',    0, 'spares'),
    ('park',               'ready',     'parked',    '{admin}',        'none',    1, 'settles'),
    ('park',               'leased',    'parked',    '{admin}',        'revokes', 1, 'settles'),
    ('park',               'attempted', 'parked',    '{admin}',        'none',    1, 'settles'),
    ('park',               'verifying', 'parked',    '{admin}',        'revokes', 1, 'settles'),
    ('park',               'accepted',  'parked',    '{admin}',        'none',    1, 'settles'),
    ('park',               'promoting', 'parked',    '{admin}',        'revokes', 1, 'settles'),
    ('park',               'verified',  'parked',    '{admin}',        'none',    1, 'settles'),
    ('redrive',            'parked',    'ready',     '{admin}',        'none',    1, 'spares'),
    ('redrive',            'parked',    'attempted', '{admin}',        'none',    1, 'spares'),
    ('redrive',            'parked',    'accepted',  '{admin}',        'none',    1, 'spares'),
    ('redrive',            'parked',    'verified',  '{admin}',        'none',    1, 'spares'),
    ('cancel',             'ready',     'cancelled', '{admin}',        'none',    1, 'settles'),
    ('cancel',             'leased',    'cancelled', '{admin}',        'revokes', 1, 'settles'),
    ('cancel',             'attempted', 'cancelled', '{admin}',        'none',    1, 'settles'),
    ('cancel',             'verifying', 'cancelled', '{admin}',        'revokes', 1, 'settles'),
    ('cancel',             'accepted',  'cancelled', '{admin}',        'none',    1, 'settles'),
    ('cancel',             'promoting', 'cancelled', '{admin}',        'revokes', 1, 'settles'),
    ('cancel',             'verified',  'cancelled', '{admin}',        'none',    1, 'settles'),
    ('cancel',             'parked',    'cancelled', '{admin}',        'none',    1, 'settles');

-- What an admin changes of an open campaign without moving it.
insert into ledger.transition
    (transition, from_state, to_state, duties, lease, generation_step, operations)
select a.act, s.state, s.state, '{admin}', 'stays', a.generation_step, a.operations
from (values
    ('set_priority', 0, 'spares'), ('allow_repeat', 0, 'spares'), ('new_epoch', 1000, 'settles')
) as a (act, generation_step, operations)
cross join unnest(array[
    'ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified', 'parked'
]) as s (state);

create trigger transition_10_append_only
    before insert or update or delete on ledger.transition
    for each row execute function ledger.tg__append_only();
create trigger transition_20_no_truncate
    before truncate on ledger.transition
    for each statement execute function ledger.tg__append_only();
alter table ledger.transition enable always trigger transition_10_append_only;
alter table ledger.transition enable always trigger transition_20_no_truncate;

commit;
