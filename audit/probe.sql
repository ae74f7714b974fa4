-- Runs the statements of the setting audit.probes, each as its role and in a subtransaction that is
-- always rolled back, and leaves what became of each in audit.probed. A denial is caught here, so
-- that it does not stand in the server's log.
do $probe$
declare
    c_rolled_back constant text := 'KN000';
    v_probe       jsonb;
    v_probed      jsonb := '[]';
    v_is_role     boolean;
    v_state       text;
    v_message     text;
begin
    for v_probe in select jsonb_array_elements(current_setting('audit.probes')::jsonb) loop
        v_is_role := false;
        begin
            execute format('set local role %I', v_probe ->> 'role');
            v_is_role := true;
            execute v_probe ->> 'statement';
            raise exception using errcode = c_rolled_back, message = 'it was carried out';
        exception
            when others then
                v_state := case when v_is_role then sqlstate else 'role' end;
                v_message := sqlerrm;
        end;
        v_probed := v_probed || (v_probe || jsonb_build_object(
            'state', v_state, 'message', v_message
        ));
    end loop;
    perform set_config('audit.probed', v_probed::text, true);
end
$probe$
