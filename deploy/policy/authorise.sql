-- Deploy fencepost:policy/authorise to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.require_kind(p_kind text)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform ledger.require('p_kind', p_kind is not null);
    if p_kind !~ '^[a-z][a-z0-9_.-]{0,62}$' then
        raise exception 'p_kind is not the kind of an operation'
            using errcode = 'KN102',
                  detail  = 'A kind is named [a-z][a-z0-9_.-]{0,62}.',
                  hint    = 'Write "git.push", "http.post" or a word of your own.';
    end if;
end
$fn$;

comment on function ledger.require_kind(text) is
$doc$Raises KN101 or KN102 unless p_kind has the form [a-z][a-z0-9_.-]{0,62}.$doc$;

create or replace function ledger.require_authority(
    p_class  text,
    p_duty   text,
    p_kind   text,
    p_target text
)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform ledger.require_class(p_class);
    perform ledger.require('p_duty', p_duty is not null);
    if p_duty not in ('worker', 'verifier') then
        raise exception 'duty % does no operations', left(p_duty, 63)
            using errcode = 'KN102',
                  detail  = 'External operations are begun by workers and verifiers only.',
                  hint    = 'The duties are worker and verifier.';
    end if;
    perform ledger.require_kind(p_kind);
    perform ledger.require('p_target', p_target is not null);
    perform ledger.require_text('p_target', p_target, 1000);
    if p_target ~ '\*.' then
        raise exception 'a target pattern has one "*", at its end'
            using errcode = 'KN102',
                  detail  = format('The first stands at place %s of %s.',
                                   position('*' in p_target), length(p_target)),
                  hint    = 'Write the target itself, or how targets begin and "*".';
    end if;
    if substr(p_target, 2) ~ '\{repository\}' then
        raise exception 'in a target pattern {repository} stands first'
            using errcode = 'KN102',
                  detail  = format('It stands at place %s.',
                                   position('{repository}' in substr(p_target, 2)) + 1),
                  hint    = 'Write "{repository}#refs/heads/fix/*".';
    end if;
end
$fn$;

comment on function ledger.require_authority(text, text, text, text) is
$doc$Raises KN101, KN102 or KN103 unless the four that name an authority have their form.$doc$;

create or replace function kernel.authorise(
    p_class         text,
    p_duty          text,
    p_kind          text,
    p_target        text,
    p_is_standalone boolean default false,
    p_limit         integer default null
)
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
    v_now     timestamptz;
    v_named   text;
    v_before  ledger.authority;
    v_after   ledger.authority;
    v_receipt kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_authority(p_class, p_duty, p_kind, p_target);
    perform ledger.require('p_is_standalone', p_is_standalone is not null);
    if p_limit not between 1 and 1000000 then
        raise exception 'a limit of % is out of range', p_limit
            using errcode = 'KN104',
                  detail  = 'An attempt is allowed 1 to 1000000 operations.',
                  hint    = 'Pass null for no limit.';
    end if;
    if p_is_standalone
        and (p_limit is not null or p_target ~ '\{(campaign|attempt|repository)\}')
    then
        raise exception 'an operation without a campaign has no attempt to count or to name'
            using errcode = 'KN102',
                  detail  = format('p_limit is %s, p_target "%s".',
                                   coalesce(p_limit::text, 'null'), left(p_target, 200)),
                  hint    = 'Leave p_limit null, and {campaign}, {attempt}, {repository} out.';
    end if;
    if p_kind = 'promote' and (p_is_standalone or p_duty <> 'verifier') then
        raise exception 'only a campaign''s verifier promotes'
            using errcode = 'KN102',
                  detail  = format('Asked for is duty %s%s.', p_duty,
                                   case when p_is_standalone then ', standalone' else '' end),
                  hint    = 'Authorise promote for duty verifier, not standalone.';
    end if;
    if not ledger.session_is('admin') then
        return ledger.forbid('authorise', p_class);
    end if;
    -- Held: a target that is being defined waits, and then sees what was authorised.
    perform from ledger.class as c where c.class = p_class for no key update;
    perform ledger.known_class(p_class);

    if p_kind <> 'promote' then
        select t.target into v_named
        from ledger.target as t
        where t.class = p_class
          and ledger.could_cover(
              p_target, ledger.own_target(t.target, t.location), t.location ->> 'repository'
          )
        order by t.target
        limit 1;
        if not found then
            -- What is to be promoted goes to where its target was when it was submitted.
            select c.target into v_named
            from ledger.campaign as c
            join ledger.bundle as b
                on b.class = p_class and b.campaign_id = c.campaign_id
            where c.class = p_class
              and c.closed_at is null
              and ledger.could_cover(
                  p_target, ledger.own_target(c.target, b.content -> 'location'),
                  b.content -> 'location' ->> 'repository'
              )
            order by c.target
            limit 1;
        end if;
        if found then
            return ledger.refuse(
                'authorise', 'illegal', p_class,
                format('this would cover the place of target %s itself, which only a promotion '
                       'writes to', v_named)
            );
        end if;
    end if;

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := false;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;

    v_now := ledger.clock();
    insert into ledger.authority as a
        (class, duty, kind, target, is_standalone, attempt_limit, granted_at, granted_by)
    values
        (p_class, p_duty, p_kind, p_target, p_is_standalone, p_limit, v_now, session_user)
    on conflict (class, duty, kind, target) do nothing
    returning a.* into v_after;

    if not found then
        select a.* into v_before
        from ledger.authority as a
        where a.class = p_class
          and a.duty = p_duty
          and a.kind = p_kind
          and a.target = p_target
        for no key update;
        if v_before.is_standalone <> p_is_standalone then
            return ledger.refuse(
                'authorise', 'illegal', p_class,
                case
                    when p_is_standalone then 'it is authorised for campaigns'
                    else 'it is authorised for operations without a campaign'
                end || ': deauthorise that first'
            );
        elsif v_before.attempt_limit is not distinct from p_limit
        then
            v_receipt.duplicate := true;
            return v_receipt;
        end if;
        v_now := ledger.clock();
        update ledger.authority as a
        set attempt_limit = p_limit,
            granted_at    = v_now,
            granted_by    = session_user
        where a.class = p_class
          and a.duty = p_duty
          and a.kind = p_kind
          and a.target = p_target
        returning a.* into v_after;
    end if;

    perform ledger.log_config(
        p_class, 'authorise', concat_ws(' ', p_duty, p_kind, p_target),
        case when v_before.class is not null then to_jsonb(v_before) end, to_jsonb(v_after)
    );
    return v_receipt;
end
$fn$;

comment on function kernel.authorise(text, text, text, text, boolean, integer) is
$doc$Allows a duty of a class to do external operations of one kind to some targets.

Parameters
    p_class          the class
    p_duty           worker or verifier
    p_kind           [a-z][a-z0-9_.-]{0,62}; git.push is what a worker pushes its result with, and
                     promote the verifier's move of the target's own place
    p_target         up to 1000 bytes: a target, or how targets begin and one "*". {campaign} and
                     {attempt} stand for the operation's own, {repository}, at the beginning, for
                     the repository of the campaign's target
    p_is_standalone  for operations without a campaign, and for those alone
    p_limit          how many such operations an attempt may have; null for no limit

Only promote may cover the place of a target itself, REPOSITORY#REF or target:NAME.

Answers
    ok (duplicate: it was so already), forbidden, illegal (it could cover a target's own place, or
    is authorised with a campaign where it shall be without, or the other way round)

Errors
    KN101, KN102, KN103, KN104 (p_limit), KN106, KN111, KN112

Writes
    ledger.authority, ledger.config_event$doc$;

grant execute on function kernel.authorise(text, text, text, text, boolean, integer)
    to fencepost_admin;

commit;
