-- Deploy fencepost:people/prune to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.prune(p_class text, p_limit integer default 1000)
    returns kernel.receipt
    language plpgsql
    volatile
    security definer
    set search_path = pg_catalog, pg_temp
    set client_min_messages = warning
    set timezone = 'UTC'
    set datestyle = 'ISO, MDY'
    set intervalstyle = 'postgres'
    set bytea_output = 'hex'
    set standard_conforming_strings = on
    set lock_timeout = '5s'
as $fn$
declare
    v_class        ledger.class;
    v_now          timestamptz;
    v_campaign     ledger.campaign;
    v_campaigns    integer := 0;
    v_observations integer;
    v_refusals     integer;
    v_receipt      kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_limit', p_limit is not null);
    if p_limit not between 1 and 100000 then
        raise exception 'a limit of % is out of range', p_limit
            using errcode = 'KN104',
                  detail  = 'At once 1 to 100000 campaigns, observations and refusals are pruned.',
                  hint    = 'Call again until the note says that nothing was pruned.';
    end if;
    if not ledger.session_is('admin') then
        return ledger.forbid('prune', p_class);
    end if;
    v_class := ledger.known_class(p_class);
    v_now   := ledger.clock();

    for v_campaign in
        select c.*
        from ledger.campaign as c
        where c.class = p_class
          and c.closed_at + v_class.retention <= v_now
          and not exists (
              select
              from ledger.campaign as n
              where n.class = p_class and n.previous_campaign_id = c.campaign_id
          )
          and not exists (
              select
              from ledger.operation as o
              where o.class = p_class
                and o.campaign_id = c.campaign_id
                and o.state in ('pending', 'unknown')
          )
        order by c.campaign_id
        limit p_limit
        for update skip locked
    loop
        -- One may have been opened that inherits from it, before it was locked.
        perform
        from ledger.campaign as n
        where n.class = p_class and n.previous_campaign_id = v_campaign.campaign_id;
        continue when found;
        perform ledger.bury(v_campaign);
        v_campaigns := v_campaigns + 1;
    end loop;

    delete from ledger.observation as o
    where o.class = p_class
      and (o.target, o.observation_no) in (
          select x.target, x.observation_no
          from ledger.observation as x
          where x.class = p_class
            and coalesce(x.reported_at, x.begun_at) + v_class.retention <= v_now
            and not exists (
                select
                from ledger.campaign as c
                where c.class = p_class and c.campaign_id = x.moved_campaign_id
            )
          order by x.target, x.observation_no
          limit p_limit
      );
    get diagnostics v_observations = row_count;

    delete from ledger.refusal as r
    where r.class = p_class
      and r.refusal_no in (
          select x.refusal_no
          from ledger.refusal as x
          where x.class = p_class and x.refused_at + v_class.refusal_retention <= v_now
          order by x.refusal_no
          limit p_limit
      );
    get diagnostics v_refusals = row_count;

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := false;
    v_receipt.moved     := false;
    v_receipt.note      := format('%s campaigns, %s observations, %s refusals',
                                  v_campaigns, v_observations, v_refusals);
    v_receipt.class     := p_class;
    return v_receipt;
end
$fn$;

comment on function kernel.prune(text, integer) is
$doc$Removes what closed longer ago than the class keeps it: campaigns with all their history,
observations, refusals.

Parameters
    p_class  the class
    p_limit  how many of each at most, 1 to 100000

Of a campaign its tombstone stays: how it ended, and the digest of each event, so that checkpoints
still verify. One that another inherits from goes after that one, an observation after the campaign
that it moved. Open campaigns are never touched, nor those of which an external operation is
unknown.

Answers
    ok (note: what was pruned), forbidden

Errors
    KN101, KN102, KN104 (p_limit), KN106, KN111, KN112

Writes
    ledger.tombstone; ledger.campaign, ledger.campaign_event, ledger.attempt, ledger.bundle,
    ledger.verdict, ledger.allowance, ledger.operation, ledger.operation_event,
    ledger.observation, ledger.refusal (deleted)$doc$;

grant execute on function kernel.prune(text, integer) to fencepost_admin;

commit;
