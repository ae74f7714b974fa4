-- Deploy fencepost:policy/authority to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.authority (
    class         text        not null,
    duty          text        not null,
    kind          text        not null,
    target        text        not null,
    is_standalone boolean     not null,
    attempt_limit integer,
    granted_at    timestamptz not null,
    granted_by    name        not null,

    constraint authority_pk primary key (class, duty, kind, target),
    constraint authority_class_fk foreign key (class) references ledger.class (class),
    constraint authority_duty_is_known check (duty in ('worker', 'verifier')),
    constraint authority_limit_is_positive check (attempt_limit >= 1)
);

comment on table ledger.authority is
    'Which external operations a class allows, per duty. What is not here is forbidden.';
comment on column ledger.authority.target is
    'A target, or how targets begin and one "*"; {campaign}, {attempt} and {repository} stand for '
    'the operation''s own.';
comment on column ledger.authority.is_standalone is
    'For operations without a campaign, and for those alone.';
comment on column ledger.authority.attempt_limit is
    'How many such operations an attempt may have; null for no limit.';

create trigger authority_10_not_by_hand
    after insert or update or delete on ledger.authority
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
create trigger authority_20_no_truncate
    before truncate on ledger.authority
    for each statement execute function ledger.tg__not_by_hand();
alter table ledger.authority enable always trigger authority_10_not_by_hand;
alter table ledger.authority enable always trigger authority_20_no_truncate;

commit;
