#!/bin/sh
# Write what audit/tap.sql runs: for each rule its query, with a TAP line around it. What a probe
# wants tried is put into a variable; `tap.sh probes` writes the second part, which tries it.
set -eu

say() { printf '%s\n' "$*"; }
cd -- "$(dirname -- "$0")/rules"

field() { sed -n "s/^-- $1: //p" "$2"; }
needs() { sed -n '/^-- Needs: /,/^\(-- [A-Z]\|[^-]\)/{s/^-- Needs: //p; s/^--   / /p;}' "$1" | tr -d '\n'; }

part=${1-}
number=0
for rule in $(ls */*.sql | grep -v '^probes/') probes/*.sql; do
    number=$((number + 1))
    id=${rule%.sql}
    severity=$(field Severity "$rule")
    case $severity in low | note) todo=" # TODO $severity" ;; *) todo= ;; esac
    tap="select case when count(*) = 0 then 'ok $number - $id' else 'not ok $number - $id$todo' end
    || coalesce(string_agg(format(E'\n%s: %s\n%s', f.object, f.found, f.remedy), '' order by f.object), '')
    as verdict"
    lines="select regexp_replace(t.verdict, '\n', E'\n# ', 'g') from tap as t;"
    case $id/$part in
        probes/*/probes)
            cat <<SQL
select set_config('audit.probes', :'probes_$number', true) as done \\gset
:probe
;
with f as (
    select p ->> 'object' as object, p ->> 'remedy' as remedy,
           format('as %s, \`%s\` was not denied', p ->> 'role', p ->> 'statement') as found,
           p ->> 'state' as state
    from jsonb_array_elements(current_setting('audit.probed')::jsonb) as p
),
tap as (
    select case
        when exists (select from f where f.state = 'KN000')
        then (select v.verdict from ($tap from f where f.state = 'KN000') as v)
        when exists (select from f where f.state <> '42501')
        then 'ok $number - $id # SKIP not seen, needs $(needs "$rule")'
        else 'ok $number - $id'
    end as verdict
)
$lines
SQL
            ;;
        */probes) ;;
        probes/*)
            say 'select coalesce(jsonb_agg(to_jsonb(p)), $$[]$$) as probes_'"$number from ("
            sed 's/;$//' "$rule"
            say ') as p \gset'
            ;;
        *)
            seen=$(field 'Seen when' "$rule")
            say "select ${seen:-true} as seen \\gset"
            say '\if :seen'
            say 'with f as ('
            sed 's/;$//' "$rule"
            say "), tap as ($tap from f) $lines"
            say '\else'
            say "\\qecho 'ok $number - $id # SKIP not seen, needs $(needs "$rule")'"
            say '\endif'
            ;;
    esac
done
