-- Deploy fencepost:lease/seat to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.seat (
    class       text    not null,
    kind        text    not null,
    seat_no     integer not null,
    campaign_id bigint,
    is_surplus  boolean not null default false,

    constraint seat_pk primary key (class, kind, seat_no),
    constraint seat_campaign_uq unique (class, campaign_id),
    constraint seat_class_fk foreign key (class) references ledger.class (class),
    constraint seat_kind_is_known check (kind in ('work', 'verification')),
    constraint seat_is_surplus_only_while_held check (not is_surplus or campaign_id is not null)
);

comment on table ledger.seat is
    'The right to hold one lease in a class that limits them; a class without limits has no rows.';
comment on column ledger.seat.kind is
    'work: of workers; verification: of verifiers, for verification and promotion.';
comment on column ledger.seat.campaign_id is 'The campaign whose holder sits in it; null: free.';
comment on column ledger.seat.is_surplus is 'Removed as soon as it falls free.';

create trigger seat_10_not_by_hand
    after insert or update or delete on ledger.seat
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
create trigger seat_20_no_truncate
    before truncate on ledger.seat
    for each statement execute function ledger.tg__not_by_hand();
alter table ledger.seat enable always trigger seat_10_not_by_hand;
alter table ledger.seat enable always trigger seat_20_no_truncate;

commit;
