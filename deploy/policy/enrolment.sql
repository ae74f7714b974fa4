-- Deploy fencepost:policy/enrolment to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.enrolment (
    class         text        not null,
    duty          text        not null,
    principal     name        not null,
    principal_oid oid         not null,
    enrolled_at   timestamptz not null,
    enrolled_by   name        not null,

    constraint enrolment_pk primary key (class, duty, principal),
    constraint enrolment_class_fk foreign key (class) references ledger.class (class),
    constraint enrolment_principal_fk
        foreign key (principal) references ledger.principal (principal),
    constraint enrolment_duty_is_known check (duty in ('sensor', 'worker', 'verifier'))
);

create index enrolment_principal_ix on ledger.enrolment (principal);

comment on table ledger.enrolment is 'Which principal may act in a class, and for which duty.';

create trigger enrolment_10_not_by_hand
    after insert or update or delete on ledger.enrolment
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
create trigger enrolment_20_no_truncate
    before truncate on ledger.enrolment
    for each statement execute function ledger.tg__not_by_hand();
alter table ledger.enrolment enable always trigger enrolment_10_not_by_hand;
alter table ledger.enrolment enable always trigger enrolment_20_no_truncate;

commit;
