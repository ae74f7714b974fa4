-- The rows by which the kernel decides, as they were deployed: who makes which move, and what the
-- answers are called. Only fencepost_owner and superusers can read them. They are read only where
-- audit.untried names none of the three: a view in the place of a table would run its owner's code.
select jsonb_build_object(
    'ledger.transition', (
        select jsonb_agg(to_jsonb(t) order by to_jsonb(t)::text collate "C")
        from only ledger.transition as t
    ),
    'ledger.operation_transition', (
        select jsonb_agg(to_jsonb(t) order by to_jsonb(t)::text collate "C")
        from only ledger.operation_transition as t
    ),
    'ledger.answer', (
        select jsonb_agg(to_jsonb(a) order by to_jsonb(a)::text collate "C")
        from only ledger.answer as a
    )
) as rows
