-- What the functions answer is in the catalogue, and in their comments. That the codes of class KN
-- and the outcomes are each raised or returned somewhere stands in foundation/answer.sql.

begin;
select plan(4);

create temporary view every_function as
select p.oid, p.oid::regproc as name, p.prosrc, obj_description(p.oid, 'pg_proc') as comment,
       p.pronamespace = 'kernel'::regnamespace as is_kernel
from pg_proc as p
where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace);

-- An outcome stands in a body where a receipt is made or refused.
create temporary view every_outcome as
select f.name, f.is_kernel, f.comment, m.match[1] as outcome
from every_function as f
cross join (values
    ('(?:outcome|v_bar)\s*:=\s*''([a-z_]+)'''),
    ('ledger\.refuse\(\s*(?:''[a-z_]+''|p_function),\s*''([a-z_]+)''')
) as p (pattern)
cross join lateral regexp_matches(f.prosrc, p.pattern, 'g') as m (match)
union all
select f.name, f.is_kernel, f.comment, m.match[1]
from every_function as f
cross join lateral regexp_matches(f.prosrc, 'return ''([a-z_]+)''', 'g') as m (match)
where f.name = 'ledger.bar_of'::regproc;

-- The section of a kernel function's comment, what is in brackets left out. That of kernel.reap,
-- which answers for several campaigns, is prose.
create temporary view every_answer as
select f.name, btrim(w.word, E' \n') as answer
from every_function as f
cross join lateral (
    select regexp_replace(
        substring(f.comment from '\nAnswers\n(.*?)(?:\n\n|$)'), '\([^)]*\)', '', 'g')
) as s (section)
cross join lateral regexp_split_to_table(s.section, ',') as w (word)
where f.is_kernel and f.name <> 'kernel.reap'::regproc;

select is_empty(
    $$ select name, outcome from every_outcome
       except select o.name, a.code from every_outcome as o
       join ledger.answer as a on a.code = o.outcome and a.kind = 'outcome' $$,
    'every outcome in a body is in the catalogue'
);
select set_eq(
    'select outcome from every_outcome',
    $$ select code from ledger.answer where kind = 'outcome' $$,
    'every outcome of the catalogue is in a body'
);
select is_empty(
    $$ select name, answer from every_answer
       where answer not in (select a.code from ledger.answer as a where a.kind = 'outcome') $$,
    'every answer that a comment lists is in the catalogue'
);
select is_empty(
    $$ select o.name, o.outcome from every_outcome as o
       where o.is_kernel and o.comment !~ ('\m' || o.outcome || '\M') $$,
    'every outcome in a kernel function''s body is in its comment'
);

select finish();
rollback;
