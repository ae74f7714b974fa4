#!/bin/sh
# Write what audit/tap.sql runs: for each rule its query, with a TAP line around it. What a probe
# wants made is put into a variable; `tap.sh probes` writes the second part, which tries it.
set -eu

say() { printf '%s\n' "$*"; }
cd -- "$(dirname -- "$0")/rules"

field() { sed -n "s/^-- $1: //p" "$2"; }
needs() { sed -n '/^-- Needs: /,/^\(-- [A-Z]\|[^-]\)/{s/^-- Needs: //p; s/^--   / /p;}' "$1" | tr -d '\n'; }

part=${1-}
shown=$(grep -v '^--' ../shown.sql)
number=0
makers=$(grep -l '^-- Transaction: read write$' */*.sql)
for rule in $(ls */*.sql | grep -v '^probes/') $(ls probes/*.sql | grep -vF "$makers") $makers; do
    number=$((number + 1))
    id=${rule%.sql}
    severity=$(field Severity "$rule")
    case $severity in low | note) todo=" # TODO $severity" ;; *) todo= ;; esac
    tap="select case when count(*) = 0 then 'ok $number - $id' else 'not ok $number - $id$todo' end
    || coalesce((select string_agg(E'\n' || s.text, '' order by s.number, s.part) from shown as s), '')
    as verdict"
    lines="select regexp_replace(t.verdict, '\n', E'\n# ', 'g') from tap as t;"
    case " $makers " in *" $rule "*) is_of=probes ;; *) is_of= ;; esac
    case $id in
        probes/*)
            if [ -z "$part" ]; then
                say 'select coalesce(jsonb_agg(to_jsonb(p)), $$[]$$) as probes_'"$number from ("
                sed 's/;$//' "$rule"
                say ') as p \gset'
            fi
            if [ "$is_of" != "$part" ]; then continue; fi
            cat <<SQL
select set_config('audit.probes', :'probes_$number', true) as done \\gset
:probe
;
with p as (
    select p ->> 'object' as object, p ->> 'remedy' as remedy,
           format('as %s, \`%s\` was not denied', p ->> 'role', p ->> 'statement') as found,
           p ->> 'state' as state,
           format('%s (%s)', p ->> 'object', p ->> 'message') as untried
    from jsonb_array_elements(current_setting('audit.probed')::jsonb) as p
),
f as (
    select * from p where p.state = 'KN000'
),
$shown,
tap as (
    select case
        when exists (select from f) then (select v.verdict from ($tap from f) as v)
        when exists (select from p where p.state = 'untried')
        then 'ok $number - $id # SKIP left out, since it would run what was not deployed: '
            || (
                select string_agg(case when c.c ~ current_setting('audit.unsafe')
                                       then format('\\u{%s}', to_hex(ascii(c.c))) else c.c end, ''
                                  order by c.place)
                from (
                    select string_agg(distinct p.untried, '; ') from p where p.state = 'untried'
                ) as p (untried)
                cross join regexp_split_to_table(p.untried, '') with ordinality as c (c, place)
            )
        when exists (select from p)
        then 'ok $number - $id # SKIP not seen, needs $(needs "$rule")'
        when current_setting('audit.actors')::jsonb -> 'left_out' <> '[]'
        then 'ok $number - $id # SKIP too many different clients'
        else 'ok $number - $id'
    end as verdict
)
$lines
SQL
            continue
            ;;
    esac
    case $part in
        probes) ;;
        *)
            seen=$(field 'Seen when' "$rule")
            say "select ${seen:-true} as seen \\gset"
            say '\if :seen'
            say 'with f as ('
            sed 's/;$//' "$rule"
            say "), $shown, tap as ($tap from f) $lines"
            say '\else'
            say "\\qecho 'ok $number - $id # SKIP not seen, needs $(needs "$rule")'"
            say '\endif'
            ;;
    esac
done
