-- Deploy fencepost:policy/is_enrolled to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.is_enrolled(p_class text, p_duty text)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select exists (
        select
        from ledger.enrolment as e
        where e.class = p_class
          and e.duty = p_duty
          and e.principal = session_user
          and e.principal_oid = ledger.session_oid()
    ) and ledger.session_is(p_duty);
$fn$;

comment on function ledger.is_enrolled(text, text) is
$doc$Whether the session's principal may act in class p_class for p_duty (sensor, worker, verifier).

Its name and OID must be those enrolled, and it must be a direct, inheriting member of the duty's
group. Asked before anything else about the class, so that a stranger cannot tell what exists.$doc$;

create or replace function ledger.forbid(p_function text, p_class text)
    returns kernel.receipt
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
    select ledger.refuse(p_function, 'forbidden', p_class,
                         'this principal may not do this here');
$fn$;

comment on function ledger.forbid(text, text) is
$doc$Records and returns "forbidden", in the same words whatever exists in the class.$doc$;

commit;
