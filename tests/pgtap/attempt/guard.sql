-- ledger.attempt is written by its campaign's moves, each part once, whoever sits at the keyboard.
\ir ../_support/fixture.psql
select plan(87);

select testing.leased();
select testing.submit();
select testing.leased('ended');
select testing.must('worker_1', format(
    'select * from kernel.fail(p_class => %L, p_campaign_id => %L, p_generation => 1, '
    'p_token => %L, p_reason => %L)', 'fix', testing.id('ended'), testing.token(), 'no'
));
select testing.leased('live');

create function testing.by_hand(p_who text) returns setof text language plpgsql as $fn$
declare
    v_live text := format('where class = ''fix'' and campaign_id = %s', testing.id('live'));
    v_sent text := format('where class = ''fix'' and campaign_id = %s', testing.id());
    v_over text := format('where class = ''fix'' and campaign_id = %s', testing.id('ended'));
    v_new  text := format(
        'insert into ledger.attempt (class, campaign_id, attempt_no, generation, principal, '
        'principal_oid, token_sha256, begun_at) select class, campaign_id, %%s, %%s, principal, '
        'principal_oid, token_sha256, begun_at from ledger.attempt %s', v_live
    );
    v_fixed constant text := 'what an attempt was begun, submitted or ended with never changes';
begin
    return query select testing.raises(
        format(v_new, 2, 2), 'KN901', 'an attempt begins with the claim of its campaign only',
        'ledger.attempt takes no second attempt under a lease from ' || p_who
    );
    return query select testing.raises(
        format(v_new, 1, 2), 'KN901', null,
        'ledger.attempt takes no attempt of another generation from ' || p_who
    );
    return query select testing.raises(
        format('update ledger.attempt set %s %s', c.change, v_live), 'KN903', v_fixed,
        format('ledger.attempt keeps its %s against %s', split_part(c.change, ' ', 1), p_who)
    )
    from (values
        ('class = ''ship'''), ('campaign_id = campaign_id + 1'), ('attempt_no = 7'),
        ('generation = generation + 1'), ('principal = ''worker_2'''), ('principal_oid = 1'),
        ('token_sha256 = ''\x00'''), ('family = ''east'''), ('label = ''x'''),
        ('begun_at = begun_at + interval ''1 s''')
    ) as c (change);
    return query select testing.raises(
        format('update ledger.attempt set %s %s', c.change, v_sent), 'KN903', v_fixed,
        format('ledger.attempt keeps a submission''s %s against %s',
               split_part(c.change, ' ', 1), p_who)
    )
    from (values
        ('submitted_at = null, submitted_sha256 = null, result = null'),
        ('submitted_sha256 = ''\x00'''), ('fingerprint = ''patch-2'''), ('approach = null'),
        ('result = ''{}'''), ('evidence_uri = null'), ('evidence_sha256 = null')
    ) as c (change);
    return query select testing.raises(
        format('update ledger.attempt set %s %s', c.change, v_over), 'KN903', v_fixed,
        format('ledger.attempt keeps an ended one''s %s against %s',
               split_part(c.change, ' ', 1), p_who)
    )
    from (values
        ('ending = ''lost'''), ('reason = ''yes'''), ('ended_at = null, ending = null'),
        ('fingerprint = ''patch-1''')
    ) as c (change);
    return query select testing.raises(
        'delete from ledger.attempt ' || v_over, 'KN902', 'DELETE of an attempt is refused',
        'ledger.attempt loses no row to ' || p_who
    );
    return query select testing.raises(
        'truncate ledger.attempt cascade', 'KN902', null,
        'ledger.attempt is not truncated by ' || p_who
    );
end
$fn$;

select testing.by_hand('a superuser');
set local session authorization fencepost_owner;
select testing.by_hand('its owner');
reset session authorization;
set local session_replication_role = replica;
select testing.by_hand('a superuser with triggers off');
set local session_replication_role = origin;

-- What a promotion was settled with.
select testing.verified('parser', 'ship');
select testing.raises(
    format('update ledger.attempt set promoted_at = %s where class = ''ship''', v.value),
    'KN903', null, 'ledger.attempt keeps the time of a promotion'
)
from (values ('null'), ('promoted_at + interval ''1 s''')) as v (value);

-- What no trigger stops, the constraints do.
select testing.raises(
    format('update ledger.attempt set %s '
           'where class = ''fix'' and campaign_id = testing.id(''live'')', c.change),
    '23514', null, 'ledger.attempt has no row with ' || c.change
)
from (values
    ('ending = ''gone'', ended_at = begun_at'), ('ending = ''failed'''), ('ended_at = begun_at'),
    ('ending = ''confirmed'', ended_at = begun_at'), ('result = ''{}'''),
    ('promotion_generation = 1')
) as c (change);

-- The holder, if it had the table: still one attempt per lease.
grant usage on schema ledger to worker_1;
grant select, insert on ledger.attempt to worker_1;
set local session authorization worker_1;
select testing.raises(
    format('insert into ledger.attempt (class, campaign_id, attempt_no, generation, principal, '
           'principal_oid, token_sha256, begun_at) select class, campaign_id, attempt_no + %s, '
           'generation + %s, principal, principal_oid, %s, begun_at from ledger.attempt '
           'where class = ''fix'' and campaign_id = testing.id(''live'')',
           i.number, i.generation, i.token),
    'KN901', 'an attempt begins with the claim of its campaign only',
    'ledger.attempt takes no attempt from the holder with another ' || i.what
)
from (values
    (1, 0, 'token_sha256', 'number'), (0, 1, 'token_sha256', 'generation'),
    (0, 0, 'sha256(''x'')', 'token')
) as i (number, generation, token, what);

set local session authorization worker_2;
select testing.raises(
    'select * from ledger.attempt', '42501', null,
    'ledger.attempt is not to be read by a worker'
);

select finish();
rollback;
