-- Deploy fencepost:policy/covers to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.covers(
    p_pattern     text,
    p_target      text,
    p_campaign_id bigint  default null,
    p_attempt_no  integer default null,
    p_repository  text    default null
)
    returns boolean
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- Only what the admin wrote is read for marks: the repository is put before it last.
    select coalesce(
        case
            when right(p_pattern, 1) = '*' then starts_with(p_target, f.head || rtrim(f.rest, '*'))
            else p_target = f.head || f.rest
        end,
        false
    )
    from (
        select case when p_pattern like '{repository}%' then p_repository else '' end as head,
               replace(replace(
                   regexp_replace(p_pattern, '^\{repository\}', ''),
                   '{campaign}', coalesce(p_campaign_id::text, '{campaign}')),
                   '{attempt}', coalesce(p_attempt_no::text, '{attempt}')) as rest
    ) as f;
$fn$;

comment on function ledger.covers(text, text, bigint, integer, text) is
$doc$Whether the target pattern of an authority covers a target.

Parameters
    p_pattern      a target, or how targets begin and one "*"
    p_target       the operation's target
    p_campaign_id, p_attempt_no   what {campaign} and {attempt} stand for
    p_repository   what {repository}, which stands first or nowhere, stands for: the repository of
                   the location$doc$;

create or replace function ledger.could_cover(p_pattern text, p_target text, p_repository text)
    returns boolean
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select coalesce(
        p_target ~ (
            '^' || f.head
            || replace(replace(f.rest, '\{campaign\}', '[0-9]+'), '\{attempt\}', '[0-9]+')
            || case when right(p_pattern, 1) = '*' then '' else '$' end
        ),
        false
    )
    from (
        select case
                   when p_pattern like '{repository}%'
                       then regexp_replace(p_repository, '([][\\^$.|?*+(){}])', '\\\1', 'g')
                   else ''
               end as head,
               regexp_replace(
                   rtrim(regexp_replace(p_pattern, '^\{repository\}', ''), '*'),
                   '([][\\^$.|?*+(){}])', '\\\1', 'g'
               ) as rest
    ) as f;
$fn$;

comment on function ledger.could_cover(text, text, text) is
$doc$Whether the target pattern of an authority covers a target for some campaign and attempt.

Parameters
    p_pattern     a target, or how targets begin and one "*"
    p_target      a target
    p_repository  what {repository} stands for$doc$;

create or replace function ledger.authority_over(
    p_class       text,
    p_duty        text,
    p_kind        text,
    p_target      text,
    p_campaign_id bigint  default null,
    p_attempt_no  integer default null,
    p_repository  text    default null
)
    returns ledger.authority
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- The most generous one that covers it decides.
    select a
    from ledger.authority as a
    where a.class = p_class
      and a.duty = p_duty
      and a.kind = p_kind
      and a.is_standalone = (p_campaign_id is null)
      and ledger.covers(a.target, p_target, p_campaign_id, p_attempt_no, p_repository)
    order by a.attempt_limit desc nulls first
    limit 1;
$fn$;

comment on function ledger.authority_over(
    text, text, text, text, bigint, integer, text
) is
$doc$What allows a duty to do an operation of this kind to this target; null where nothing does.

Parameters
    p_class, p_duty, p_kind, p_target   what is asked for
    p_campaign_id, p_attempt_no, p_repository   as ledger.covers wants them; no campaign means an
                                               operation without one$doc$;

commit;
