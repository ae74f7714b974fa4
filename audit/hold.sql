-- Holds still what the audit may read or plan, until its transaction ends: the ledger's relations,
-- functions, statistics and children. Whoever writes rows is not in the way; whoever alters an object waits,
-- and what is compared next is what is planned later. What was not deployed is not planned and not
-- held. Leaves in audit.held whether it could.
do $hold$
declare
    v_relation text;
begin
    for v_relation in
        select format('%I.%I', n.nspname, c.relname)
        from pg_catalog.pg_class as c
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p', 'v')
          and format('%I.%I', n.nspname, c.relname) in (
              select jsonb_object_keys(current_setting('audit.expected')::jsonb -> 'relations')
          )
        order by 1
    loop
        execute format('lock table only %s in row exclusive mode', v_relation);
    end loop;
    -- None of these can be locked one by one.
    lock table pg_catalog.pg_proc, pg_catalog.pg_statistic_ext, pg_catalog.pg_inherits
        in share mode;
    perform set_config('audit.held', 'true', true);
exception
    when insufficient_privilege or read_only_sql_transaction then
        perform set_config('audit.held', 'false', true);
end
$hold$
