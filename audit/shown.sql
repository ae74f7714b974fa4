-- For audit/tap.sql: the findings f to be read and to be run, in pieces: `said`, one line, and
-- `typed`, the remedy. Within quotes an odd character is as SQL escapes it, elsewhere \u{...};
-- tools/audit does the same.
finding as (
    select row_number() over (order by f.object, f.found, f.remedy) as number,
           f.object, f.found, f.remedy
    from f
),
token (number, part, place, token, form) as (
    select f.number, 'said', 1, format('%s: %s', f.object, f.found), 'line' from finding as f
    union all
    select f.number, 'typed', t.place, t.match[1],
           case when t.match[1] !~ current_setting('audit.unsafe') then 'text'
                when t.match[1] ~ '^E''' then 'escapes'
                when t.match[1] ~ '^["'']' then 'unicode'
                else 'text' end
    from finding as f
    cross join regexp_matches(
        f.remedy,
        '\$function\$.*\$function\$|--[^\n]*|E''(?:[^''\\]|\\.|'''')*''|''(?:[^'']|'''')*'''
            || '|"(?:[^"]|"")*"|(?:(?!E'')[^$''"-])+|.',
        'g'
    ) with ordinality as t (match, place)
),
shown (number, part, text) as (
    select t.number, t.part,
           string_agg(
               case when c.place = 1 and t.form = 'unicode' then 'U&' else '' end
               || case
                   when t.form = 'unicode' and c.c = '\' then '\\'
                   when c.c !~ current_setting('audit.unsafe') or t.form = 'text' and c.c = E'\n'
                   then c.c
                   when t.form = 'unicode' then '\+' || lpad(to_hex(ascii(c.c)), 6, '0')
                   when t.form = 'escapes' then '\U' || lpad(to_hex(ascii(c.c)), 8, '0')
                   else format('\u{%s}', to_hex(ascii(c.c)))
               end, '' order by t.place, c.place
           )
    from token as t
    cross join regexp_split_to_table(t.token, '') with ordinality as c (c, place)
    group by t.number, t.part
)
