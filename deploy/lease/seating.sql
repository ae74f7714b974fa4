-- Deploy fencepost:lease/seating to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.take_seat(p_class ledger.class, p_kind text)
    returns integer
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_seat_no integer;
    v_surplus integer;
begin
    loop
        select s.seat_no into v_seat_no
        from ledger.seat as s
        where s.class = p_class.class and s.kind = p_kind and s.campaign_id is null
        order by s.seat_no
        limit 1
        for no key update skip locked;
        if not found then
            return null;
        end if;

        perform
        from ledger.seat as s
        where s.class = p_class.class and s.kind = p_kind and s.is_surplus;
        if not found then
            return v_seat_no;
        end if;

        -- Somebody sits in a seat too many, and his was locked as this one fell free: this one goes
        -- in its place. Where his still is locked, it stands for his until then.
        select s.seat_no into v_surplus
        from ledger.seat as s
        where s.class = p_class.class and s.kind = p_kind and s.is_surplus
        order by s.seat_no
        limit 1
        for no key update skip locked;
        if not found then
            return null;
        end if;
        update ledger.seat as s
        set is_surplus = false
        where s.class = p_class.class and s.kind = p_kind and s.seat_no = v_surplus;
        delete from ledger.seat as s
        where s.class = p_class.class and s.kind = p_kind and s.seat_no = v_seat_no;
    end loop;
    return null;
end
$fn$;

comment on function ledger.take_seat(ledger.class, text) is
$doc$Locks a free seat of a class and returns its number; null where none is free.

Parameters
    p_class  the class, held by ledger.hold_class
    p_kind   work or verification

Writes
    ledger.seat (a free one is removed for one that is held and too many)$doc$;

create or replace function ledger.sit(
    p_class       ledger.class,
    p_kind        text,
    p_seat_no     integer,
    p_campaign_id bigint
)
    returns void
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
    update ledger.seat as s
    set campaign_id = p_campaign_id
    where s.class = p_class.class and s.kind = p_kind and s.seat_no = p_seat_no;
$fn$;

comment on function ledger.sit(ledger.class, text, integer, bigint) is
$doc$Seats a campaign's holder in a seat that ledger.take_seat locked; nothing where that is null.

Writes
    ledger.seat$doc$;

create or replace function ledger.lock_seat(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint
)
    returns void
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform
    from ledger.seat as s
    where s.class = p_class
      and s.campaign_id = p_campaign_id
      and exists (
          select
          from ledger.campaign as c
          where c.class = p_class
            and c.campaign_id = p_campaign_id
            and c.generation = p_generation
      )
    for no key update;
end
$fn$;

comment on function ledger.lock_seat(text, bigint, bigint) is
$doc$Locks the seat of whoever holds a campaign under a generation, before the campaign is locked:
the one order is class, target, seat, campaign, attempt, bundle. Nothing to lock is no error; where
the generation is another one nothing is locked, and nobody else kept waiting.$doc$;

create or replace function ledger.free_seat(p_class text, p_campaign_id bigint)
    returns void
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_seat    ledger.seat;
    v_surplus integer;
begin
    -- The caller has it locked. Only where the class was given its first seats while he waited for
    -- the campaign has he not: then this wait is out of order, and short, so that whoever waits for
    -- him in turn ends in a time-out and not in a deadlock.
    select s.* into v_seat
    from ledger.seat as s
    where s.class = p_class and s.campaign_id = p_campaign_id
    for no key update skip locked;
    if not found then
        perform from ledger.seat as s where s.class = p_class and s.campaign_id = p_campaign_id;
        if not found then
            return;
        end if;
        perform set_config('lock_timeout', '500ms', true);
        select s.* into v_seat
        from ledger.seat as s
        where s.class = p_class and s.campaign_id = p_campaign_id
        for no key update;
    end if;

    if not v_seat.is_surplus then
        -- Where another is one too many, this one goes in its place. skip locked: whoever is just
        -- leaving such a seat removes it himself.
        select s.seat_no into v_surplus
        from ledger.seat as s
        where s.class = p_class and s.kind = v_seat.kind and s.is_surplus
        order by s.seat_no
        limit 1
        for no key update skip locked;
        update ledger.seat as s
        set is_surplus = false
        where s.class = p_class and s.kind = v_seat.kind and s.seat_no = v_surplus;
    end if;

    if v_seat.is_surplus or v_surplus is not null then
        delete from ledger.seat as s
        where s.class = p_class and s.kind = v_seat.kind and s.seat_no = v_seat.seat_no;
    else
        update ledger.seat as s
        set campaign_id = null
        where s.class = p_class and s.kind = v_seat.kind and s.seat_no = v_seat.seat_no;
    end if;
end
$fn$;

comment on function ledger.free_seat(text, bigint) is
$doc$Frees the seat of a campaign's holder, or removes it where there is one too many.

Writes
    ledger.seat$doc$;

create or replace function ledger.set_seats(p_class text, p_kind text, p_seats integer)
    returns void
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_campaign_id bigint;
    v_state       text;
    v_seat_no     integer;
    v_present     integer;
    v_changed     integer;
begin
    -- Whoever holds a lease without a seat gets one first: it counts from now on.
    if p_seats is not null then
        for v_campaign_id in
            select c.campaign_id
            from ledger.campaign as c
            where c.class = p_class
              and c.lease_token_sha256 is not null
              and (c.state = 'leased') = (p_kind = 'work')
              and not exists (
                  select from ledger.seat as s
                  where s.class = p_class and s.campaign_id = c.campaign_id
              )
            order by c.campaign_id
        loop
            select c.state into v_state
            from ledger.campaign as c
            where c.class = p_class and c.campaign_id = v_campaign_id
            for no key update;

            if v_state in ('leased', 'verifying', 'promoting')
                and (v_state = 'leased') = (p_kind = 'work')
            then
                select coalesce(max(s.seat_no), 0) + 1 into v_seat_no
                from ledger.seat as s
                where s.class = p_class and s.kind = p_kind;
                insert into ledger.seat (class, kind, seat_no, campaign_id)
                values (p_class, p_kind, v_seat_no, v_campaign_id)
                on conflict (class, campaign_id) do nothing;
            end if;
        end loop;
    end if;

    loop
        select count(*)::integer into v_present
        from ledger.seat as s
        where s.class = p_class and s.kind = p_kind and not s.is_surplus;
        exit when v_present = coalesce(p_seats, 0);

        if v_present < p_seats then
            update ledger.seat as s
            set is_surplus = false
            where s.class = p_class
              and s.kind = p_kind
              and s.seat_no in (
                  select x.seat_no
                  from ledger.seat as x
                  where x.class = p_class and x.kind = p_kind and x.is_surplus
                  order by x.seat_no
                  limit p_seats - v_present
              )
              and s.is_surplus;
            get diagnostics v_changed = row_count;
            if v_changed = 0 then
                select coalesce(max(s.seat_no), 0) into v_seat_no
                from ledger.seat as s
                where s.class = p_class and s.kind = p_kind;
                insert into ledger.seat (class, kind, seat_no)
                select p_class, p_kind, v_seat_no + n
                from generate_series(1, p_seats - v_present) as n;
            end if;
        else
            delete from ledger.seat as s
            where s.class = p_class
              and s.kind = p_kind
              and s.campaign_id is null
              and s.seat_no in (
                  select x.seat_no
                  from ledger.seat as x
                  where x.class = p_class and x.kind = p_kind and x.campaign_id is null
                  order by x.seat_no desc
                  limit v_present - coalesce(p_seats, 0)
              );
            get diagnostics v_changed = row_count;
            -- A seat that falls free while its row is waited for is not marked: look again.
            update ledger.seat as s
            set is_surplus = true
            where s.class = p_class
              and s.kind = p_kind
              and s.campaign_id is not null
              and not s.is_surplus
              and s.seat_no in (
                  select x.seat_no
                  from ledger.seat as x
                  where x.class = p_class
                    and x.kind = p_kind
                    and x.campaign_id is not null
                    and not x.is_surplus
                  order by x.seat_no desc
                  limit v_present - coalesce(p_seats, 0) - v_changed
              );
        end if;
    end loop;
end
$fn$;

comment on function ledger.set_seats(text, text, integer) is
$doc$Gives a class so many seats of a kind, whoever sits in them.

Parameters
    p_class  the class; the caller holds its row for update, so that no claim is under way
    p_kind   work or verification
    p_seats  how many; null for no limit

More: seats that were surplus stay, and new ones come. Fewer: free seats go at once, and so many of
the held ones are marked to go when they fall free.

Writes
    ledger.seat$doc$;

commit;
