-- Make the registry's schema as a superuser, and select what in it another role could run as one.

do $do$
begin
    if not (
        select r.rolsuper from pg_catalog.pg_roles as r
        where r.rolname = current_user and current_user = session_user
    ) then
        raise exception '% is no superuser', current_user
            using errcode = 'insufficient_privilege',
                  hint    = 'Deploy this plan as a superuser, and the kernel''s as its deployer.';
    end if;
    if to_regnamespace('sqitch_superuser') is null then
        create schema sqitch_superuser;
    end if;
end
$do$;

-- No name gets to move the cursor, or to look like a line of its own.
\set registry `cat ../audit/rules/superuser/registry.sql`
select f.object, regexp_replace(f.found, '[^ -~]', '?', 'g'), f.remedy
from (
    :registry
) as f;
