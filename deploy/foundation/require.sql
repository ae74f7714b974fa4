-- Deploy fencepost:foundation/require to pg
--
-- One change for the family: each is a sentence about one argument, and they are read together.

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.require(p_name text, p_is_present boolean)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    if not p_is_present then
        raise exception 'argument % is null', p_name
            using errcode = 'KN101',
                  detail  = 'This call requires it; no default stands for null.',
                  hint    = format('Pass %s.', p_name);
    end if;
end
$fn$;

comment on function ledger.require(text, boolean) is
$doc$Raises KN101 argument_missing unless p_is_present; p_name is the argument's name.$doc$;

create or replace function ledger.is_blank(p_text text)
    returns boolean
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- What ECMAScript's String.prototype.trim removes; btrim alone takes U+0020 only.
    select btrim(p_text, U&' \0009\000A\000B\000C\000D\00A0\1680\2000\2001\2002\2003\2004\2005\2006'
                         '\2007\2008\2009\200A\2028\2029\202F\205F\3000\FEFF') = '';
$fn$;

comment on function ledger.is_blank(text) is
$doc$Whether a text has nothing but what ECMAScript calls white space and line ends.$doc$;

create or replace function ledger.require_class(p_class text)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform ledger.require('p_class', p_class is not null);
    if p_class !~ '^[a-z][a-z0-9_-]{0,62}$' then
        raise exception 'p_class is not the name of a class'
            using errcode = 'KN102',
                  detail  = 'A class is named [a-z][a-z0-9_-]{0,62}.',
                  hint    = 'Use lower-case letters, digits, "_" and "-", up to 63 in all.';
    end if;
end
$fn$;

comment on function ledger.require_class(text) is
$doc$Raises KN101 or KN102 unless p_class has the form of a class name, [a-z][a-z0-9_-]{0,62}.$doc$;

create or replace function ledger.require_bytes(p_name text, p_value text, p_limit integer)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    if octet_length(p_value) > p_limit then
        raise exception 'argument % is too long', p_name
            using errcode = 'KN103',
                  detail  = format('It has %s bytes; the bound is %s.',
                                   octet_length(p_value), p_limit),
                  hint    = 'Store the whole as evidence and pass a reference.';
    end if;
end
$fn$;

comment on function ledger.require_bytes(text, text, integer) is
$doc$Raises KN103 where p_value has more than p_limit bytes; null and blank pass.$doc$;

create or replace function ledger.require_text(p_name text, p_value text, p_limit integer)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform ledger.require_bytes(p_name, p_value, p_limit);
    if ledger.is_blank(p_value) then
        raise exception 'argument % is empty', p_name
            using errcode = 'KN102',
                  detail  = format('It has %s bytes, none of them visible.', octet_length(p_value)),
                  hint    = format('Say something in %s, or pass null.', p_name);
    end if;
end
$fn$;

comment on function ledger.require_text(text, text, integer) is
$doc$Raises KN103 where p_value has more than p_limit bytes, KN102 where blank; null passes.$doc$;

create or replace function ledger.require_size(p_name text, p_value jsonb)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    if octet_length(p_value::text) > 65536 then
        raise exception 'argument % is too long', p_name
            using errcode = 'KN103',
                  detail  = format('It has %s bytes; the bound is 65536.',
                                   octet_length(p_value::text)),
                  hint    = 'Store the whole as evidence and pass a reference.';
    end if;
end
$fn$;

comment on function ledger.require_size(text, jsonb) is
$doc$Raises KN103 where p_value has more than 65536 bytes, whatever it is; null passes.$doc$;

create or replace function ledger.require_object(p_name text, p_value jsonb)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform ledger.require(p_name, p_value is not null);
    perform ledger.require_size(p_name, p_value);
    if jsonb_typeof(p_value) <> 'object' then
        raise exception 'argument % is not a jsonb object', p_name
            using errcode = 'KN102',
                  detail  = format('It is of type %s.', jsonb_typeof(p_value)),
                  hint    = 'Pass an object, {"key": value}.';
    end if;
end
$fn$;

comment on function ledger.require_object(text, jsonb) is
$doc$Raises KN101, KN102 or KN103 unless p_value is a jsonb object of at most 65536 bytes.$doc$;

create or replace function ledger.require_evidence(p_uri text, p_sha256 bytea)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform ledger.require_text('p_evidence_uri', p_uri, 4096);
    if num_nulls(p_uri, p_sha256) = 1 then
        raise exception 'evidence is a URI together with its SHA-256'
            using errcode = 'KN101',
                  detail  = format('%s is null.', case when p_uri is null then 'p_evidence_uri'
                                                       else 'p_evidence_sha256' end),
                  hint    = 'Pass both p_evidence_uri and p_evidence_sha256.';
    end if;
    if octet_length(p_sha256) <> 32 then
        raise exception 'p_evidence_sha256 is not a SHA-256'
            using errcode = 'KN102',
                  detail  = format('It has %s bytes; a SHA-256 has 32.', octet_length(p_sha256)),
                  hint    = 'Pass the raw digest, decode(hex, ''hex'').';
    end if;
end
$fn$;

comment on function ledger.require_evidence(text, bytea) is
$doc$Raises KN101, KN102 or KN103 unless both are null, or a URI and 32 bytes.$doc$;

create or replace function ledger.require_campaign(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint
)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform ledger.require_class(p_class);
    perform ledger.require('p_campaign_id', p_campaign_id is not null);
    perform ledger.require('p_generation', p_generation is not null);
end
$fn$;

comment on function ledger.require_campaign(text, bigint, bigint) is
$doc$Raises KN101 or KN102 unless the three that name a campaign under a generation are there.$doc$;

commit;
