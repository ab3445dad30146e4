-- All triggers, table by table, in the order in which they fire: those before the change, then those after it.

create trigger _100_keep before delete or truncate on keyframe_private.settings
  for each statement execute function keyframe_private.refuse_change('settings_keep_their_row',
    'The row of keyframe_private.settings cannot be deleted: it has the budgets. To set a value: update keyframe_private.settings set … where only_row. To restore a shipped value, set it to default.');

create trigger _500_wait_for_changes after insert on keyframe_private.moved_owners
  for each row execute function keyframe_private.wait_for_changes();

create trigger _100_limit_changes before update or delete on keyframe.films
  for each statement execute function keyframe_private.limit_changes();
create trigger _110_limit before insert on keyframe.films for each row execute function keyframe_private.limit_inserts('create');
create trigger _120_complete_owner before insert on keyframe.films
  for each row when (new.owner_id is null) execute function keyframe_private.complete_owner();
create trigger _130_stamp before update on keyframe.films
  for each row when (old is distinct from new) execute function keyframe_private.move_version();
create trigger _140_require_own_elements before insert or update of element_ids on keyframe.films
  for each row execute function keyframe_private.require_own_elements();

create trigger _100_stamp before update on keyframe.elements
  for each row when (old is distinct from new) execute function keyframe_private.move_version();
-- Not when an account is deleted: its films and projects go too.
create trigger _110_leave_lists before delete on keyframe.elements
  for each row when (pg_trigger_depth() = 0) execute function keyframe_private.leave_lists();
create trigger _120_keep_images before insert or update of owner_id, image_paths on keyframe.elements
  for each row execute function keyframe_private.keep_element_images();
create trigger _500_add_removals after update of image_paths on keyframe.elements
  for each row when (old.image_paths <> new.image_paths) execute function keyframe_private.add_removals_of_element_images();
create trigger _510_add_removals_of_deleted after delete on keyframe.elements
  for each row when (old.image_paths <> '{}') execute function keyframe_private.add_removals_of_element_images();

create trigger _100_limit_changes before update or delete on keyframe.projects
  for each statement execute function keyframe_private.limit_changes();
create trigger _110_limit before insert on keyframe.projects for each row execute function keyframe_private.limit_inserts('create');
create trigger _120_complete_owner before insert on keyframe.projects
  for each row when (new.owner_id is null) execute function keyframe_private.complete_owner();
create trigger _130_delete before delete on keyframe.projects for each row execute function keyframe_private.delete_by_user();
-- Not if only its position changes: the order of a film is the film's.
create trigger _140_stamp before update on keyframe.projects
  for each row when (to_jsonb(old) - 'film_position' <> to_jsonb(new) - 'film_position') execute function keyframe_private.move_version();
-- Before the film is locked: the deletion of an element locks the element, then its films.
create trigger _145_require_own_elements before insert or update of element_ids on keyframe.projects
  for each row when (new.element_ids is not null) execute function keyframe_private.require_own_elements();
-- Not if update_film has set the position.
create trigger _150_change_film before update of film_id on keyframe.projects
  for each row when (new.film_id is distinct from old.film_id and new.film_position is not distinct from old.film_position)
  execute function keyframe_private.change_film();
create trigger _160_enter_film before insert on keyframe.projects
  for each row when (new.film_id is not null and new.film_position is null) execute function keyframe_private.change_film();
create trigger _170_require_selected_takes
  before insert or update of selected_first_frame_id, selected_last_frame_id, selected_video_id on keyframe.projects
  for each row execute function keyframe_private.require_selected_takes();
create trigger _180_keep_reference before insert or update on keyframe.projects
  for each row when (new.reference_image_path is not null) execute function keyframe_private.keep_reference_of_project();
create trigger _190_require_plan before insert or update of plan on keyframe.projects
  for each row when (new.plan <> '{}') execute function keyframe_private.require_plan();
create trigger _500_stamp_film after delete on keyframe.projects
  for each row when (old.film_id is not null) execute function keyframe_private.change_film();
create trigger _505_require_may_remove after update of reference_image_path, plan on keyframe.projects
  for each row when (old.reference_image_path <> coalesce(new.reference_image_path, '') or old.plan <> '{}' and old.plan <> new.plan)
  execute function keyframe_private.require_may_change_images();
create trigger _510_add_removals after delete on keyframe.projects
  for each row when (old.reference_image_path is not null or old.plan <> '{}') execute function keyframe_private.add_removals_of_project_images();
create trigger _520_emit_created after insert on keyframe.projects for each row execute function keyframe_private.emit_project_created();

create trigger _100_require_well_formed before insert or update on keyframe.models
  for each row execute function keyframe_private.require_well_formed_model();
create trigger _110_keep_used before delete on keyframe.models for each row execute function keyframe_private.keep_used_model();
create trigger _120_refuse_disabled_default before update of enabled on keyframe.models
  for each row when (old.enabled and not new.enabled) execute function keyframe_private.refuse_disabled_default();
create trigger _130_clear_refusal before update on keyframe.models
  for each row when (old.refused_at is not null and new.refused_at = old.refused_at) execute function keyframe_private.clear_refusal();
create trigger _500_rename_prices after update of model on keyframe.models
  for each row when (new.model <> old.model) execute function keyframe_private.rename_prices();
create constraint trigger _510_rename_predictions after update of step, model on keyframe.models deferrable initially deferred
  for each row when ((old.step, old.model) <> (new.step, new.model)) execute function keyframe_private.rename_model();

create trigger _100_keep_deleted before delete on keyframe.step_defaults
  for each row execute function keyframe_private.refuse_change('every_step_keeps_a_default',
    'Every step needs a default. Choose another: update keyframe.step_defaults set model = ''…'' where step = ''…''.');
-- Not `update of step`: a model that gets another name updates both columns.
create trigger _110_keep_moved before update on keyframe.step_defaults
  for each row when (old.step <> new.step) execute function keyframe_private.refuse_change('every_step_keeps_a_default',
    'Every step needs a default. Choose another: update keyframe.step_defaults set model = ''…'' where step = ''…''.');
create trigger _120_require_enabled before insert or update on keyframe.step_defaults
  for each row execute function keyframe_private.require_enabled_default();

create trigger _100_require_well_formed before insert or update on keyframe_private.model_prices
  for each row execute function keyframe_private.require_well_formed_price();
create trigger _110_keep_changed before update on keyframe_private.model_prices
  for each row when (old.valid_from <= now()
    and (old.id, old.applies_to, old.metric, old.price_usd, old.valid_from) is distinct from
      (new.id, new.applies_to, new.metric, new.price_usd, new.valid_from))
  execute function keyframe_private.refuse_change('price_in_force_stays',
    'Runs were started at this price, so it cannot change. Insert a row with the new price, which applies from its valid_from.');
create trigger _120_keep_deleted before delete on keyframe_private.model_prices
  for each row when (old.valid_from <= now()) execute function keyframe_private.refuse_change('price_in_force_stays',
    'Runs were started at this price, so it cannot be deleted. Insert a row with the new price, which applies from its valid_from.');

create trigger _100_require_known_model before insert or update on keyframe_private.model_markups
  for each row execute function keyframe_private.require_known_model();

create trigger _090_limit before insert on keyframe.predictions for each statement execute function keyframe_private.limit_inserts('generate');
create trigger _100_guard_move before update of status on keyframe.predictions
  for each row when (old.status is distinct from new.status) execute function keyframe_private.guard_prediction_move();
create trigger _110_keep_history before update on keyframe.predictions
  for each row when (old.completed_at is not null or old.input <> new.input) execute function keyframe_private.keep_history();
create trigger _120_resolve before insert on keyframe.predictions for each row execute function keyframe_private.resolve_prediction();
create trigger _130_admit before insert on keyframe.predictions for each row execute function keyframe_private.admit_or_queue();
create trigger _500_refuse_used_id after insert on keyframe.predictions for each row execute function keyframe_private.refuse_used_id();
create trigger _505_require_valid_input after insert on keyframe.predictions
  for each row execute function keyframe_private.require_valid_input();
create trigger _506_require_sound_change after update on keyframe.predictions
  for each row when (old.input is distinct from new.input or old.step <> new.step) execute function keyframe_private.require_valid_input();
alter table keyframe.predictions enable always trigger _505_require_valid_input, enable always trigger _506_require_sound_change;
create trigger _520_give_back after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.error_code = 'failed_by_administrator') execute function keyframe_private.give_back_run();
create trigger _530_settle_by_file after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.completed_at is not null) execute function keyframe_private.settle_by_file();
create trigger _540_settle_deleted after delete on keyframe.predictions
  for each row when (old.completed_at is null) execute function keyframe_private.settle_by_file();
create trigger _550_abandon_deleted_submits after delete on keyframe.predictions
  for each row when (old.completed_at is null) execute function keyframe_private.abandon_submits();
create trigger _560_abandon_submits after update of status on keyframe.predictions
  for each row when (old.completed_at is null
    and (new.status in ('failed', 'canceled') or (old.status = 'queued' and new.status <> 'queued')))
  execute function keyframe_private.abandon_submits();
create trigger _570_unselect_deleted_take after delete on keyframe.predictions
  for each row when (old.status = 'succeeded') execute function keyframe_private.unselect_deleted_take();
create trigger _590_admit_next after update of status on keyframe.predictions
  for each row
  when (old.completed_at is null and new.completed_at is not null and old.admitted_at is not null)
  execute function keyframe_private.admit_next();
create trigger _595_continue after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.completed_at is not null and old.step = 'video')
  execute function keyframe_private.add_continue_work();
create trigger _596_continue_from_end_image after update of end_image_path on keyframe.predictions
  for each row when (new.end_image_path is not null and new.end_image_path is distinct from old.end_image_path)
  execute function keyframe_private.add_continue_work();
create trigger _600_emit_ended after update of status on keyframe.predictions
  for each row when (old.status is distinct from new.status and new.status in ('succeeded', 'failed'))
  execute function keyframe_private.emit_generation_ended();
create trigger _610_add_submit after update of admitted_at on keyframe.predictions
  for each row when (old.admitted_at is null and new.admitted_at is not null and new.status = 'queued')
  execute function keyframe_private.add_work_of_prediction();
create trigger _620_add_store after update of status on keyframe.predictions
  for each row when (old.status <> 'storing' and new.status = 'storing') execute function keyframe_private.add_work_of_prediction();
create trigger _640_add_removals after delete on keyframe.predictions
  referencing old table as deleted
  for each statement execute function keyframe_private.add_removals_of_deleted();
-- Before the price, which reveals the size of an image to others than its owner.
create trigger _650_write_images after insert on keyframe.predictions
  referencing new table as started
  for each statement execute function keyframe_private.write_prediction_images();
create trigger _660_begin after insert on keyframe.predictions
  referencing new table as started
  for each statement execute function keyframe_private.begin_starts();

create trigger _100_settle before update of outcome on keyframe_private.provider_submits
  for each row when (old.outcome is distinct from new.outcome) execute function keyframe_private.settle_ended();
create trigger _500_add_cost after insert on keyframe_private.provider_submits
  for each row execute function keyframe_private.add_cost_change();
create trigger _510_add_changed_cost after update on keyframe_private.provider_submits
  for each row when (
    (old.owner_id, old.project_id, old.created_at, old.step, old.model, old.is_first, old.most_micros, old.cost_micros, old.cost_state, old.markup)
    is distinct from
    (new.owner_id, new.project_id, new.created_at, new.step, new.model, new.is_first, new.most_micros, new.cost_micros, new.cost_state, new.markup))
  execute function keyframe_private.add_cost_change();
-- Its sums are deleted with it when both are 13 months old.
create trigger _520_add_removed_cost after delete on keyframe_private.provider_submits
  for each row when (old.created_at >= now() - interval '13 months') execute function keyframe_private.add_cost_change();

create trigger _100_keep before update of id, owner_id, micros, kind, key, created_at or delete or truncate on keyframe_private.credits
  for each statement execute function keyframe_private.refuse_change('credits_are_only_inserted',
    'A credit cannot change. Insert an adjustment with the difference.');
create trigger _110_open_balance before insert on keyframe_private.credits
  for each row execute function keyframe_private.open_balance();
create trigger _500_note_low after insert on keyframe_private.credits
  for each row when (new.micros < 0) execute function keyframe_private.note_low_after_credit();

create trigger _100_limit before insert on keyframe.webhook_endpoints
  for each row when (new.owner_id is not null) execute function keyframe_private.limit_endpoints();
create trigger _110_refuse_changed_owner before update of owner_id on keyframe.webhook_endpoints
  for each row when (new.owner_id is distinct from old.owner_id) execute function keyframe_private.refuse_change('endpoint_keeps_its_owner',
    'The owner of a webhook endpoint cannot be changed. Delete the endpoint, then add one for the new owner.');
create trigger _120_switch before insert or update of enabled, url, description, event_types, max_in_flight on keyframe.webhook_endpoints
  for each row execute function keyframe_private.record_enabled_change();
create trigger _500_create_secret after insert on keyframe.webhook_endpoints
  for each row execute function keyframe_private.create_endpoint_secret();
create trigger _510_record_deleted after delete on keyframe.webhook_endpoints
  for each row execute function keyframe_private.record_deleted_endpoint();
create trigger _520_resume after update of enabled on keyframe.webhook_endpoints
  for each row when (new.enabled and not old.enabled) execute function keyframe_private.resume_endpoint();

create trigger _500_delete_vault_secret after delete on keyframe_private.webhook_secrets
  for each row execute function keyframe_private.delete_vault_secret();

-- Workers record attempts themselves.
create trigger _500_add_changed after update of status, next_attempt_at on keyframe.webhook_deliveries
  for each row when (new.status = 'pending' and new.attempts <= old.attempts
    and (new.status <> old.status or new.next_attempt_at <> old.next_attempt_at))
  execute function keyframe_private.add_delivery();
create trigger _510_add_inserted after insert on keyframe.webhook_deliveries
  for each row when (new.status = 'pending') execute function keyframe_private.add_delivery();
create trigger _520_count_changed after update on keyframe.webhook_deliveries
  referencing old table as changed_from new table as changed_to
  for each statement execute function keyframe_private.count_deliveries();

create trigger _500_add_work after insert on keyframe_private.file_removals
  referencing new table as added
  for each statement execute function keyframe_private.add_removal_work();
