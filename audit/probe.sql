-- Runs the statements of the setting audit.probes, each as its role and in a subtransaction that is
-- always rolled back, and leaves in audit.probed those that were not denied. A denial is caught
-- here, so that it does not stand in the server's log. What audit.untried names is not run, nor what
-- one of the role's own groups has been seen to do.
do $probe$
declare
    c_rolled_back constant text := 'KN000';
    c_denied      constant text := '42501';
    v_untried     constant jsonb := current_setting('audit.untried')::jsonb;
    v_probe       jsonb;
    v_probed      jsonb[] := '{}';
    v_carried_out jsonb := '{}';
    v_is_role     boolean;
    v_state       text;
    v_message     text;
begin
    for v_probe in select jsonb_array_elements(current_setting('audit.probes')::jsonb) loop
        v_is_role := false;
        if v_untried ? (v_probe ->> 'object') then
            v_state := 'untried';
            v_message := v_untried ->> (v_probe ->> 'object');
        elsif v_carried_out -> (v_probe ->> 'statement')
                  ?| array(select jsonb_array_elements_text(v_probe -> 'groups'))
        then
            continue;
        else
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
        end if;
        continue when v_state = c_denied;
        if v_state = c_rolled_back then
            v_carried_out := v_carried_out || jsonb_build_object(
                v_probe ->> 'statement',
                coalesce(v_carried_out -> (v_probe ->> 'statement'), '[]')
                    || jsonb_build_array(v_probe ->> 'role')
            );
        end if;
        v_probed := v_probed || (v_probe || jsonb_build_object(
            'state', v_state, 'message', v_message
        ));
    end loop;
    perform set_config('audit.probed', to_jsonb(v_probed)::text, true);
end
$probe$
