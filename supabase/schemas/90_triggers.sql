-- All triggers of each table, in the order in which they fire: those before the change, then those after it.

-- keyframe_private.settings
create trigger _100_keep before delete or truncate on keyframe_private.settings
  for each statement execute function keyframe_private.refuse_change('settings_keep_their_row',
    'The row of keyframe_private.settings cannot be deleted: it has the budgets. To set a value: update keyframe_private.settings set … where only_row. To restore a shipped value, set it to default.');
comment on trigger _100_keep on keyframe_private.settings is 'Refuses to delete the row.';

-- keyframe_private.moved_owners
create trigger _500_wait_for_changes after insert on keyframe_private.moved_owners
  for each row execute function keyframe_private.wait_for_changes();
comment on trigger _500_wait_for_changes on keyframe_private.moved_owners is 'Waits for the owner''s changes and credits in progress.';

-- keyframe.films
create trigger _100_limit_changes before update or delete on keyframe.films
  for each statement execute function keyframe_private.limit_changes();
comment on trigger _100_limit_changes on keyframe.films is 'Counts an update or delete by a user against the rate limit.';
create trigger _110_limit before insert on keyframe.films for each row execute function keyframe_private.limit_inserts('create');
comment on trigger _110_limit on keyframe.films is 'Counts an insert by a user against the rate limit.';
create trigger _120_complete_owner before insert on keyframe.films
  for each row when (new.owner_id is null) execute function keyframe_private.complete_owner();
comment on trigger _120_complete_owner on keyframe.films is 'Fills in the only user, if an administrator leaves the owner out.';
create trigger _130_stamp before update on keyframe.films
  for each row when (old is distinct from new) execute function keyframe_private.move_version();
comment on trigger _130_stamp on keyframe.films is 'Updates the film''s version.';
create trigger _140_require_own_elements before insert or update of element_ids on keyframe.films
  for each row execute function keyframe_private.require_own_elements();
comment on trigger _140_require_own_elements on keyframe.films is 'Refuses elements of others.';

-- keyframe.elements
create trigger _100_stamp before update on keyframe.elements
  for each row when (old is distinct from new) execute function keyframe_private.move_version();
comment on trigger _100_stamp on keyframe.elements is 'Updates the element''s version.';
-- Not when an account is deleted: its films and projects go too.
create trigger _110_leave_lists before delete on keyframe.elements
  for each row when (pg_trigger_depth() = 0) execute function keyframe_private.leave_lists();
comment on trigger _110_leave_lists on keyframe.elements is 'Removes it from films and projects.';

-- keyframe.element_images
create trigger _100_keep before insert or update on keyframe.element_images
  for each row execute function keyframe_private.keep_reference_of_row('path');
comment on trigger _100_keep on keyframe.element_images is 'Checks the image and keeps it from removal.';
create trigger _500_remove after delete on keyframe.element_images
  for each row execute function keyframe_private.remove_element_image();
comment on trigger _500_remove on keyframe.element_images is 'Lists the image for removal, unless something else uses it.';

-- keyframe.projects
create trigger _100_limit_changes before update or delete on keyframe.projects
  for each statement execute function keyframe_private.limit_changes();
comment on trigger _100_limit_changes on keyframe.projects is 'Counts an update or delete by a user against the rate limit.';
create trigger _110_limit before insert on keyframe.projects for each row execute function keyframe_private.limit_inserts('create');
comment on trigger _110_limit on keyframe.projects is 'Counts an insert by a user against the rate limit.';
create trigger _120_complete_owner before insert on keyframe.projects
  for each row when (new.owner_id is null) execute function keyframe_private.complete_owner();
comment on trigger _120_complete_owner on keyframe.projects is 'Fills in the only user, if an administrator leaves the owner out.';
create trigger _130_delete before delete on keyframe.projects for each row execute function keyframe_private.delete_by_user();
comment on trigger _130_delete on keyframe.projects is 'Refuses a deletion by a user while a prediction runs; hides a project with many, which is then deleted in parts.';
create trigger _140_stamp before update on keyframe.projects for each row execute function keyframe_private.stamp_project();
comment on trigger _140_stamp on keyframe.projects is 'Updates the project''s version.';
-- Before the film is locked: the deletion of an element locks the element, then its films.
create trigger _145_require_own_elements before insert or update of element_ids on keyframe.projects
  for each row when (new.element_ids is not null) execute function keyframe_private.require_own_elements();
comment on trigger _145_require_own_elements on keyframe.projects is 'Refuses elements of others.';
-- Not if update_film has set the position.
create trigger _150_change_film before update of film_id on keyframe.projects
  for each row when (new.film_id is distinct from old.film_id and new.film_position is not distinct from old.film_position)
  execute function keyframe_private.change_film();
comment on trigger _150_change_film on keyframe.projects is 'Makes a project that enters a film its last shot.';
create trigger _160_enter_film before insert on keyframe.projects
  for each row when (new.film_id is not null and new.film_position is null) execute function keyframe_private.change_film();
comment on trigger _160_enter_film on keyframe.projects is 'Makes a new project the last shot of its film.';
create trigger _170_require_selected_takes
  before insert or update of selected_first_frame_id, selected_last_frame_id, selected_video_id on keyframe.projects
  for each row execute function keyframe_private.require_selected_takes();
comment on trigger _170_require_selected_takes on keyframe.projects is 'Refuses to select what is not a take of this project and step.';
create trigger _180_keep_reference before insert or update on keyframe.projects
  for each row when (new.reference_image_path is not null) execute function keyframe_private.keep_reference_of_row('reference_image_path');
comment on trigger _180_keep_reference on keyframe.projects is 'Checks the reference image and keeps it from removal.';
create trigger _190_require_plan before insert on keyframe.projects
  for each row when (new.plan <> '{}') execute function keyframe_private.require_plan();
comment on trigger _190_require_plan on keyframe.projects is 'Checks the plan, and keeps its images from removal.';
create trigger _195_require_changed_plan before update of plan on keyframe.projects
  for each row when (old.plan <> new.plan) execute function keyframe_private.require_plan();
comment on trigger _195_require_changed_plan on keyframe.projects is 'Checks the changed parts of the plan, and keeps its images from removal.';
create trigger _500_stamp_film after delete on keyframe.projects
  for each row when (old.film_id is not null) execute function keyframe_private.change_film();
comment on trigger _500_stamp_film on keyframe.projects is 'Updates the version of the film that lost a shot.';
create trigger _505_require_may_remove after update of reference_image_path, plan on keyframe.projects
  for each row when (old.reference_image_path <> coalesce(new.reference_image_path, '') or old.plan <> '{}' and old.plan <> new.plan)
  execute function keyframe_private.leave_images();
comment on trigger _505_require_may_remove on keyframe.projects is 'Refuses a client without the right to delete that removes an image which nothing else uses.';
create trigger _510_remove_images after delete on keyframe.projects
  for each row when (old.reference_image_path is not null or old.plan <> '{}') execute function keyframe_private.leave_images();
comment on trigger _510_remove_images on keyframe.projects is 'Lists its images for removal, unless something else uses them.';
create trigger _520_emit_created after insert on keyframe.projects for each row execute function keyframe_private.emit_project_created();
comment on trigger _520_emit_created on keyframe.projects is 'Writes the event project.created and its deliveries.';

-- keyframe.models
create trigger _100_require_well_formed before insert or update on keyframe.models
  for each row execute function keyframe_private.require_well_formed_model();
comment on trigger _100_require_well_formed on keyframe.models is 'Refuses a row with a mistake, with its path.';
create trigger _110_keep_used before delete on keyframe.models for each row execute function keyframe_private.keep_used_model();
comment on trigger _110_keep_used on keyframe.models is 'Refuses to delete a model that has made predictions.';
create trigger _120_refuse_disabled_default before update of enabled on keyframe.models
  for each row when (old.enabled and not new.enabled) execute function keyframe_private.refuse_disabled_default();
comment on trigger _120_refuse_disabled_default on keyframe.models is 'Refuses to disable the default of a step.';
create trigger _130_clear_refusal before update on keyframe.models
  for each row when (old.refused_at is not null and new.refused_at = old.refused_at) execute function keyframe_private.clear_refusal();
comment on trigger _130_clear_refusal on keyframe.models is 'Makes a model that the provider refused available again.';
create trigger _500_rename_prices after update of model on keyframe.models
  for each row when (new.model <> old.model) execute function keyframe_private.rename_prices();
comment on trigger _500_rename_prices on keyframe.models is 'Gives the model''s new name to its prices and markup.';
create constraint trigger _510_rename_predictions after update of step, model on keyframe.models deferrable initially deferred
  for each row when ((old.step, old.model) <> (new.step, new.model)) execute function keyframe_private.rename_model();
comment on trigger _510_rename_predictions on keyframe.models is 'Predictions and plans follow the new name of their model.';

-- keyframe.step_defaults
create trigger _100_keep_deleted before delete on keyframe.step_defaults
  for each row execute function keyframe_private.refuse_change('every_step_keeps_a_default',
    'Every step needs a default. Choose another: update keyframe.step_defaults set model = ''…'' where step = ''…''.');
comment on trigger _100_keep_deleted on keyframe.step_defaults is 'Refuses to delete the default of a step.';
-- Not `update of step`: a model that gets another name updates both columns.
create trigger _110_keep_moved before update on keyframe.step_defaults
  for each row when (old.step <> new.step) execute function keyframe_private.refuse_change('every_step_keeps_a_default',
    'Every step needs a default. Choose another: update keyframe.step_defaults set model = ''…'' where step = ''…''.');
comment on trigger _110_keep_moved on keyframe.step_defaults is 'Refuses to give a default to another step.';
create trigger _120_require_enabled before insert or update on keyframe.step_defaults
  for each row execute function keyframe_private.require_enabled_default();
comment on trigger _120_require_enabled on keyframe.step_defaults is 'Refuses a model that is not enabled.';

-- keyframe_private.model_prices
create trigger _100_require_well_formed before insert or update on keyframe_private.model_prices
  for each row execute function keyframe_private.require_well_formed_price();
comment on trigger _100_require_well_formed on keyframe_private.model_prices is 'Refuses a row with a mistake, with its path.';
create trigger _110_keep_changed before update on keyframe_private.model_prices
  for each row when (old.valid_from <= now()
    and (old.id, old.applies_to, old.metric, old.price_usd, old.valid_from) is distinct from
      (new.id, new.applies_to, new.metric, new.price_usd, new.valid_from))
  execute function keyframe_private.refuse_change('price_in_force_stays',
    'Runs were started at this price, so it cannot change. Insert a row with the new price, which applies from its valid_from.');
comment on trigger _110_keep_changed on keyframe_private.model_prices is 'Refuses to change a price that has been in force.';
create trigger _120_keep_deleted before delete on keyframe_private.model_prices
  for each row when (old.valid_from <= now()) execute function keyframe_private.refuse_change('price_in_force_stays',
    'Runs were started at this price, so it cannot be deleted. Insert a row with the new price, which applies from its valid_from.');
comment on trigger _120_keep_deleted on keyframe_private.model_prices is 'Refuses to delete a price that has been in force.';

-- keyframe_private.model_markups
create trigger _100_require_known_model before insert or update on keyframe_private.model_markups
  for each row execute function keyframe_private.require_known_model();
comment on trigger _100_require_known_model on keyframe_private.model_markups is 'Refuses a model that does not exist.';

-- keyframe.predictions
create trigger _090_limit before insert on keyframe.predictions for each statement execute function keyframe_private.limit_inserts('generate');
comment on trigger _090_limit on keyframe.predictions is 'Counts an insert by a user against the rate limit.';
create trigger _100_guard_move before update of status on keyframe.predictions
  for each row when (old.status is distinct from new.status) execute function keyframe_private.guard_prediction_move();
comment on trigger _100_guard_move on keyframe.predictions is 'Refuses a move that is not in prediction_moves.';
create trigger _110_keep_history before update on keyframe.predictions
  for each row when (old.completed_at is not null or old.input <> new.input) execute function keyframe_private.keep_history();
comment on trigger _110_keep_history on keyframe.predictions is 'An ended prediction keeps all but hidden, its end image and its model''s new name; an active one keeps its input.';
create trigger _120_resolve before insert on keyframe.predictions for each row execute function keyframe_private.resolve_prediction();
comment on trigger _120_resolve on keyframe.predictions is 'Chooses the model, checks and completes the input.';
create trigger _130_admit before insert on keyframe.predictions for each row execute function keyframe_private.admit_or_queue();
comment on trigger _130_admit on keyframe.predictions is 'Gives it a slot or lets it wait.';
create trigger _500_refuse_used_id after insert on keyframe.predictions for each row execute function keyframe_private.refuse_used_id();
comment on trigger _500_refuse_used_id on keyframe.predictions is 'Refuses an id that left an event, a submit or a file.';
create trigger _505_require_sound_input after insert on keyframe.predictions
  for each row execute function keyframe_private.require_sound_input();
comment on trigger _505_require_sound_input on keyframe.predictions is 'Refuses an input that breaks a rule, by its name.';
create trigger _506_require_sound_change after update on keyframe.predictions
  for each row when (old.input is distinct from new.input or old.step <> new.step) execute function keyframe_private.require_sound_input();
comment on trigger _506_require_sound_change on keyframe.predictions is 'Refuses an input that breaks a rule, by its name.';
alter table keyframe.predictions enable always trigger _505_require_sound_input, enable always trigger _506_require_sound_change;
create trigger _520_give_back after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.error_code = 'failed_by_administrator') execute function keyframe_private.give_back_run();
comment on trigger _520_give_back on keyframe.predictions is 'Makes a run that an administrator failed free for its owner.';
create trigger _530_settle_by_file after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.completed_at is not null) execute function keyframe_private.settle_by_file();
comment on trigger _530_settle_by_file on keyframe.predictions is 'Settles a run without the provider''s figures by its file.';
create trigger _540_settle_deleted after delete on keyframe.predictions
  for each row when (old.completed_at is null) execute function keyframe_private.settle_by_file();
comment on trigger _540_settle_deleted on keyframe.predictions is 'Settles a run without the provider''s figures.';
create trigger _550_abandon_deleted_submits after delete on keyframe.predictions
  for each row when (old.completed_at is null) execute function keyframe_private.abandon_submits();
comment on trigger _550_abandon_deleted_submits on keyframe.predictions is 'Marks provider runs of a deleted prediction for canceling, and unanswered submits for a search.';
create trigger _560_abandon_submits after update of status on keyframe.predictions
  for each row when (old.completed_at is null
    and (new.status in ('failed', 'canceled') or (old.status = 'queued' and new.status <> 'queued')))
  execute function keyframe_private.abandon_submits();
comment on trigger _560_abandon_submits on keyframe.predictions is 'Marks unneeded provider runs for canceling, and unanswered submits for a search.';
create trigger _570_unselect_deleted_take after delete on keyframe.predictions
  for each row when (old.status = 'succeeded') execute function keyframe_private.unselect_deleted_take();
comment on trigger _570_unselect_deleted_take on keyframe.predictions is 'Removes it from its project''s selection.';
create trigger _590_admit_next after update of status on keyframe.predictions
  for each row
  when (old.completed_at is null and new.completed_at is not null and old.admitted_at is not null)
  execute function keyframe_private.admit_next();
comment on trigger _590_admit_next on keyframe.predictions is 'Gives the slot to the owner''s next waiting prediction.';
create trigger _595_continue after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.completed_at is not null and old.step = 'video')
  execute function keyframe_private.add_waiting_work();
comment on trigger _595_continue on keyframe.predictions is 'Adds the work to start predictions that wait for this video.';
create trigger _596_continue_from_end_image after update of end_image_path on keyframe.predictions
  for each row when (new.end_image_path is not null and new.end_image_path is distinct from old.end_image_path)
  execute function keyframe_private.add_waiting_work();
comment on trigger _596_continue_from_end_image on keyframe.predictions is 'Adds the work to start predictions that wait for this video''s end image.';
create trigger _600_emit_ended after update of status on keyframe.predictions
  for each row when (old.status is distinct from new.status and new.status in ('succeeded', 'failed'))
  execute function keyframe_private.emit_generation_ended();
comment on trigger _600_emit_ended on keyframe.predictions is 'Writes the event generation.succeeded or generation.failed and its deliveries.';
create trigger _610_add_submit after update of admitted_at on keyframe.predictions
  for each row when (old.admitted_at is null and new.admitted_at is not null and new.status = 'queued')
  execute function keyframe_private.add_work_of_prediction();
comment on trigger _610_add_submit on keyframe.predictions is 'Adds the work to submit it.';
create trigger _620_add_store after update of status on keyframe.predictions
  for each row when (old.status <> 'storing' and new.status = 'storing') execute function keyframe_private.add_work_of_prediction();
comment on trigger _620_add_store on keyframe.predictions is 'Adds the work to copy its output.';
create trigger _640_remove_deleted_files after delete on keyframe.predictions
  referencing old table as deleted
  for each statement execute function keyframe_private.remove_deleted_files();
comment on trigger _640_remove_deleted_files on keyframe.predictions is 'Lists outputs and unused images for removal.';
-- Before the price, which reveals the size of an image to others than its owner.
create trigger _650_write_images after insert on keyframe.predictions
  referencing new table as started
  for each statement execute function keyframe_private.write_prediction_images();
comment on trigger _650_write_images on keyframe.predictions is 'Writes prediction_images and keeps the images from removal.';
create trigger _660_begin after insert on keyframe.predictions
  referencing new table as started
  for each statement execute function keyframe_private.begin_starts();
comment on trigger _660_begin on keyframe.predictions is 'Counts further rows against the rate limit; adds the first submits to the ledger, refuses them over a budget, and adds their work.';

-- keyframe_private.provider_submits
create trigger _100_settle before update of outcome on keyframe_private.provider_submits
  for each row when (old.outcome is distinct from new.outcome) execute function keyframe_private.settle_ended();
comment on trigger _100_settle on keyframe_private.provider_submits is 'Settles, releases or leaves unknown what the ended submit costs.';
-- outcome: _100_settle writes the cost of an end.
create trigger _500_add_cost_change
  after insert or update of owner_id, project_id, created_at, step, model, is_first, outcome, most_micros, cost_micros, cost_state, markup
  on keyframe_private.provider_submits
  for each row execute function keyframe_private.add_cost_change();
comment on trigger _500_add_cost_change on keyframe_private.provider_submits is 'Records what changes in its cost.';
-- Its sums are deleted with it when both are 13 months old.
create trigger _510_add_removed_cost after delete on keyframe_private.provider_submits
  for each row when (old.created_at >= now() - interval '13 months') execute function keyframe_private.add_cost_change();
comment on trigger _510_add_removed_cost on keyframe_private.provider_submits is 'Records that its cost is gone.';

-- keyframe_private.credits
create trigger _100_keep before update of id, owner_id, micros, kind, key, created_at or delete or truncate on keyframe_private.credits
  for each statement execute function keyframe_private.refuse_change('credits_are_only_inserted',
    'A credit cannot change. Insert an adjustment with the difference.');
comment on trigger _100_keep on keyframe_private.credits is 'Refuses to change or delete a credit; its note may be removed.';
create trigger _110_open_balance before insert on keyframe_private.credits
  for each row execute function keyframe_private.open_balance();
comment on trigger _110_open_balance on keyframe_private.credits is 'Refuses credit of an owner who lives in another project of the service. Offsets earlier settled costs before an owner''s first credit.';
create trigger _500_note_low after insert on keyframe_private.credits
  for each row when (new.micros < 0) execute function keyframe_private.note_low_after_credit();
comment on trigger _500_note_low on keyframe_private.credits is 'Writes the event balance.low if a refund has made the balance low.';

-- keyframe.webhook_endpoints
create trigger _100_limit before insert on keyframe.webhook_endpoints
  for each row when (new.owner_id is not null) execute function keyframe_private.limit_endpoints();
comment on trigger _100_limit on keyframe.webhook_endpoints is 'Refuses more than 20 endpoints of an owner.';
create trigger _110_refuse_changed_owner before update of owner_id on keyframe.webhook_endpoints
  for each row when (new.owner_id is distinct from old.owner_id) execute function keyframe_private.refuse_change('endpoint_keeps_its_owner',
    'The owner of a webhook endpoint cannot be changed. Delete the endpoint, then add one for the new owner.');
comment on trigger _110_refuse_changed_owner on keyframe.webhook_endpoints is 'Refuses another owner: its deliveries belong to this one.';
create trigger _120_switch before insert or update of enabled, url, description, event_types, max_in_flight on keyframe.webhook_endpoints
  for each row execute function keyframe_private.record_endpoint_switch();
comment on trigger _120_switch on keyframe.webhook_endpoints is 'Keeps enabled, disabled_at and disabled_reason consistent.';
create trigger _500_create_secret after insert on keyframe.webhook_endpoints
  for each row execute function keyframe_private.create_endpoint_secret();
comment on trigger _500_create_secret on keyframe.webhook_endpoints is 'Creates its signing secret; refuses an id whose deliveries are still being deleted.';
create trigger _510_record_deleted after delete on keyframe.webhook_endpoints
  for each row execute function keyframe_private.record_deleted_endpoint();
comment on trigger _510_record_deleted on keyframe.webhook_endpoints is 'Lists it, so that its deliveries are deleted.';
create trigger _520_resume after update of enabled on keyframe.webhook_endpoints
  for each row when (new.enabled and not old.enabled) execute function keyframe_private.resume_endpoint();
comment on trigger _520_resume on keyframe.webhook_endpoints is 'Adds the work to send what is pending.';

-- keyframe_private.webhook_secrets
create trigger _500_delete_vault_secret after delete on keyframe_private.webhook_secrets
  for each row execute function keyframe_private.delete_vault_secret();
comment on trigger _500_delete_vault_secret on keyframe_private.webhook_secrets is 'Deletes the secret from the Vault.';

-- keyframe.webhook_deliveries
-- Workers record attempts themselves.
create trigger _500_add_changed after update of status, next_attempt_at on keyframe.webhook_deliveries
  for each row when (new.status = 'pending' and new.attempts <= old.attempts
    and (new.status <> old.status or new.next_attempt_at <> old.next_attempt_at))
  execute function keyframe_private.add_delivery();
comment on trigger _500_add_changed on keyframe.webhook_deliveries is 'Adds the work of sending it again.';
create trigger _510_add_inserted after insert on keyframe.webhook_deliveries
  for each row when (new.status = 'pending') execute function keyframe_private.add_delivery();
comment on trigger _510_add_inserted on keyframe.webhook_deliveries is 'Adds the work of sending it.';
create trigger _520_count_changed after update on keyframe.webhook_deliveries
  referencing old table as changed_from new table as changed_to
  for each statement execute function keyframe_private.count_deliveries();
comment on trigger _520_count_changed on keyframe.webhook_deliveries is 'Counts the outcomes in webhook_hours.';

-- keyframe_private.file_removals
create trigger _500_add_work after insert on keyframe_private.file_removals
  referencing new table as added
  for each statement execute function keyframe_private.add_removal_work();
comment on trigger _500_add_work on keyframe_private.file_removals is 'Adds the work to remove them.';
