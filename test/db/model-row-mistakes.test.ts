import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { refusalOf } from "../support/database/refusal.ts";
import { rolledBack } from "../support/database/rolled-back.ts";

// What an administrator may get wrong in a row of models, and the name of the rule that says so.

const db = useDatabase();
beforeAll(async () => {
  await db.sql`
    insert into keyframe.models
      (step, model, reference_field, max_references, reference_is_list, first_frame_field, last_frame_field,
       last_frame_needs_first, last_frame_extras, duration_field, durations, extras)
    values ('video', 'test/full', 'reference_images', 3, true, 'image', 'last_frame', true, '{"mode": "pro"}',
       'duration', '{5,10}', '{"mode": "std", "resolution": "1080p"}')`;
});

/** The rule that refuses this change of the full row, or of an image model's; "none" when it goes in. */
async function ruleAgainst(change: string, step: string): Promise<string> {
  let rule = "none";
  await rolledBack(db.sql, async (sql) => {
    const row = step === "video" ? `model = 'test/full'` : `model = 'google/nano-banana'`;
    const update = sql.savepoint(async (inner) => {
      await inner.unsafe(`update keyframe.models set ${change} where step = '${step}' and ${row}`);
    });
    const refused = await update.then(
      () => null,
      (error: unknown) => refusalOf(Promise.reject(error)),
    );
    if (refused) rule = refused.constraint ?? refused.sqlstate;
  });
  return rule;
}

const CHANGES: [change: string, rule: string, step?: string][] = [
  [`last_frame_field = null, last_frame_extras = '{}'`, "last_frame_rules_need_a_last_frame_field"],
  [`last_frame_field = null, last_frame_needs_first = false`, "last_frame_rules_need_a_last_frame_field"],
  [`last_frame_needs_first = true`, "last_frame_rules_need_a_last_frame_field", "first-frame"],
  [`prompt_field = ''`, "fields_have_names"],
  [`reference_field = ' '`, "fields_have_names"],
  [`first_frame_field = 'first image'`, "fields_have_names"],
  [`last_frame_field = 'last_frame '`, "fields_have_names"],
  [`duration_field = ''`, "fields_have_names"],
  [`last_frame_field = 'image'`, "fields_differ"],
  [`first_frame_field = 'prompt'`, "fields_differ"],
  [`reference_field = 'image'`, "fields_differ"],
  [`reference_field = 'last_frame'`, "fields_differ"],
  [`duration_field = 'prompt'`, "fields_differ"],
  [`duration_field = 'reference_images'`, "fields_differ"],
  [`duration_field = 'last_frame'`, "fields_differ"],
  [`duration_field = 'image'`, "fields_differ"],
  [`last_frame_field = 'prompt'`, "fields_differ"],
  [`reference_field = 'prompt'`, "fields_differ", "first-frame"],
  [`extras = '{"prompt": "a cat"}'`, "extras_leave_the_other_fields_alone"],
  [`extras = '{"image": null}'`, "extras_leave_the_other_fields_alone"],
  [`extras = '{"duration": 5}'`, "extras_leave_the_other_fields_alone"],
  [`last_frame_extras = '{"last_frame": "x"}'`, "extras_leave_the_other_fields_alone"],
  [`last_frame_extras = '{"reference_images": []}'`, "extras_leave_the_other_fields_alone"],
  [`extras = '{"image_input": []}'`, "extras_leave_the_other_fields_alone", "first-frame"],
  [`extras = '[]'`, "extras_are_objects"],
  [`extras = 'null'`, "extras_are_objects"],
  [`last_frame_extras = '"mode"'`, "extras_are_objects"],
  [`durations = '{0}'`, "durations_are_a_list_of_seconds"],
  [`durations = '{5,-1}'`, "durations_are_a_list_of_seconds"],
  [`durations = '{5,null}'`, "durations_are_a_list_of_seconds"],
  [`durations = '{{5},{10}}'`, "durations_are_a_list_of_seconds"],
  [`durations = '{}'`, "durations_need_a_field"],
  [`duration_field = null`, "durations_need_a_field"],
  [`duration_field = 'duration', durations = '{5}'`, "only_video_has_a_duration_field", "last-frame"],
  [`reference_field = null, max_references = -1`, "max_references_is_not_negative"],
  [`max_references = 0`, "references_need_a_field"],
  [`reference_is_list = false`, "several_references_need_a_list"],
  [`first_frame_field = null`, "video_starts_from_a_first_frame"],
  [`last_frame_field = 'end_image'`, "only_video_has_frame_fields", "last-frame"],
  [`last_frame_extras = '{}'`, "none"],
  [`last_frame_field = null, last_frame_needs_first = false, last_frame_extras = '{}'`, "none"],
  [`last_frame_extras = '{"mode": "pro", "resolution": "720p"}'`, "none"], // replaces what extras say
  [`reference_field = null, max_references = 0`, "none"],
  [`duration_field = null, durations = '{}', extras = '{"duration": 5}'`, "none"], // a fixed duration
  [`prompt_field = 'text_prompt'`, "none"],
  [`first_frame_field = 'input.image-1'`, "none"],
];

test.each(CHANGES)("%s → %s", async (change, rule, step = "video") => {
  expect(await ruleAgainst(change, step)).toBe(rule);
});
