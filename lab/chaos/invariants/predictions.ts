import type { Invariant } from "./ledger-tables.ts";

/**
 * Whether nothing proves whose a provider run is: it has no file and no callback, and two users submitted its prompt.
 */
const UNPROVABLE = `
  not r.has_file and strpos(r.prompt, '[[fault:callback_lost]]') > 0
  and (select count(*) from chaos.starts s where s.prompt = r.prompt) > 1`;

export const predictionInvariants = {
  accepted_starts_are_there: {
    sentence: "each accepted start has its row, unless its project or itself was deleted",
    broken: `
      select format('prediction %s of project %s is missing', s.prediction_id, s.project_id) as broken
      from chaos.starts s left join keyframe.predictions p on p.id = s.prediction_id
      where s.prediction_id is not null and p.id is null and s.prediction_id not in (select prediction_id from chaos.deleted_takes)
        and not (s.project_id in (select project_id from chaos.deleted_projects)
          and not exists (select from keyframe.projects j where j.id = s.project_id))`,
  },
  starts_have_ended: {
    sentence: "each start has reached its end",
    broken: `select format('prediction %s is %s', id, status) as broken from keyframe.predictions where is_active`,
  },
  ends_have_one_event: {
    sentence: "each succeeded or failed prediction has exactly one event, of its type; a cancelled one has none",
    broken: `
      select format('prediction %s is %s and has %s events: %s', p.id, p.status, count(e.id), string_agg(e.type, ', ')) as broken
      from keyframe.predictions p
      left join keyframe.webhook_events e on e.prediction_id = p.id and e.type like 'generation.%'
      group by p.id, p.status
      having coalesce(array_agg(e.type) filter (where e.id is not null), '{}')
        <> case when p.status in ('succeeded', 'failed') then array['generation.' || p.status] else '{}' end`,
  },
  receivers_got_one_end: {
    sentence: "no receiver got two ends of one prediction",
    broken: `
      select format('prediction %s: %s', e.prediction_id, string_agg(distinct e.type || ' ' || e.id, ', ')) as broken
      from chaos.arrivals a join keyframe.webhook_events e on e.id = a.event_id
      where e.prediction_id is not null group by e.prediction_id having count(distinct e.id) > 1`,
  },
  projects_have_one_event: {
    sentence: "each project has exactly one project.created",
    broken: `
      select format('project %s has %s', p.id, count(e.id)) as broken
      from keyframe.projects p left join keyframe.webhook_events e on e.project_id = p.id and e.type = 'project.created'
      group by p.id having count(e.id) <> 1`,
  },
  keys_have_one_effect: {
    sentence: "a repeated key creates nothing twice: one answer, one row",
    broken: `
      select format('key %s made %s', key, string_agg(distinct id, ', ')) as broken
      from chaos.answers group by key having count(distinct id) > 1
      union all
      select format('%s predictions have the prompt of key %s', count(*), s.key)
      from chaos.starts s join keyframe.predictions p on p.input ->> 'prompt' = s.prompt and p.project_id = s.project_id
      group by s.key having count(*) > 1
      union all
      select format('%s projects have the title %s', count(*), title) from keyframe.projects group by title having count(*) > 1`,
  },
  runs_have_a_row: {
    sentence:
      "each provider run has a row, also when its prediction, project or account was deleted, unless nothing proves whose it is",
    broken: `
      select format('run %s (%s) of prediction %s (%s, %s) is in no row', r.id, r.status, coalesce(p.id::text, 'that is gone'),
        coalesce(p.status::text, '-'), coalesce(p.error_code, '-')) as broken
      from chaos.runs r left join keyframe.predictions p on p.id = r.made_for
      left join keyframe_private.provider_submits o on o.provider_prediction_id = r.id
      where o.id is null and not (${UNPROVABLE})`,
  },
  runs_are_their_predictions: {
    sentence: "each provider run belongs to the prediction it was made for, and none is cancelled for another one",
    broken: `
      select format('run %s was made for %s and is in a row of %s', r.id, r.made_for, o.prediction_id) as broken
      from chaos.runs r join keyframe_private.provider_submits o on o.provider_prediction_id = r.id where o.prediction_id <> r.made_for
      union all
      select format('run %s was made for %s, and %s follows it', r.id, r.made_for, p.id)
      from chaos.runs r join keyframe.predictions p on p.provider_prediction_id = r.id where p.id <> r.made_for
      union all
      select format('run %s of %s was cancelled, which is %s', r.id, r.made_for, coalesce(p.status::text, 'not known as its prediction'))
      from chaos.runs r left join keyframe_private.provider_submits o on o.provider_prediction_id = r.id and o.prediction_id = r.made_for
      left join keyframe.predictions p on p.provider_prediction_id = r.id
      where r.cancel_asked and (o.id is null or p.status = 'succeeded')`,
  },
  runs_are_real: {
    sentence: "no row names a provider run that the provider never made (a forged callback's)",
    broken: `
      select format('run %s of prediction %s', o.provider_prediction_id, o.prediction_id) as broken
      from keyframe_private.provider_submits o left join chaos.runs r on r.id = o.provider_prediction_id
      where o.provider_prediction_id is not null and r.id is null`,
  },
  runs_have_ended: {
    sentence: "no provider run goes on, and none is still to be searched for or cancelled",
    broken: `
      select format('run %s is %s: %s', r.id, r.status, r.prompt) as broken from chaos.runs r
      where r.status in ('starting', 'processing')
      union all
      select format('run %s is still to be cancelled', provider_prediction_id) from keyframe_private.provider_submits where cancel_due_at is not null
      union all
      select format('the run of submit %s of prediction %s is still to be searched for', attempt, prediction_id)
      from keyframe_private.provider_submits where search_due_at is not null`,
  },
  submits_have_ended: {
    sentence: "each submit has ended as its provider run did, with what the provider counted, also of what was deleted",
    broken: `
      select format('submit %s of prediction %s has not ended', id, prediction_id) as broken
      from keyframe_private.provider_submits where ended_at is null
      union all
      select format('run %s is %s, and its submit ended as %s (%s)', r.id, r.status, o.outcome, o.metrics)
      from chaos.runs r join keyframe_private.provider_submits o on o.provider_prediction_id = r.id
      where replace(o.outcome, 'rejected', 'failed') <> r.status or o.metrics is null
      union all
      select format('prediction %s has %s submits of %s attempts', p.id, count(distinct o.attempt), p.attempt)
      from keyframe.predictions p left join keyframe_private.provider_submits o on o.prediction_id = p.id and o.submitted_at is not null
      group by p.id having count(distinct o.attempt) <> p.attempt`,
  },
  rows_are_possible: {
    sentence: "no prediction is in an impossible state",
    broken: `
      select format('%s: %s has a run that no submit names', p.id, p.status) as broken from keyframe.predictions p
      left join keyframe_private.provider_submits r on r.provider_prediction_id = p.provider_prediction_id and r.prediction_id = p.id
      where p.provider_prediction_id is not null and r.id is null
      union all
      select format('%s succeeded without a run', id) from keyframe.predictions where status = 'succeeded' and provider_prediction_id is null
      union all
      select format('%s: its owner is not its project''s', p.id) from keyframe.predictions p
      join keyframe.projects j on j.id = p.project_id where j.owner_id <> p.owner_id
      union all
      select format('event %s is of another prediction than its payload says', id) from keyframe.webhook_events
      where prediction_id is not null and payload -> 'data' ->> 'predictionId' is distinct from prediction_id::text`,
  },
  runs_have_their_source: {
    sentence: "no prediction ran without the frame that it was started with",
    broken: `select format('prediction %s', prediction_id) as broken from chaos.lost_sources`,
  },
} satisfies Record<string, Invariant>;

export const filmInvariants = {
  selections_are_there: {
    sentence: "no project points at a take or a film that is gone or another's",
    broken: `
      select format('project %s selects %s', p.id, s.id) as broken
      from keyframe.projects p
      cross join unnest(array[p.selected_first_frame_id, p.selected_last_frame_id, p.selected_video_id]) as s (id)
      where s.id is not null and not exists (select from keyframe.predictions t where t.id = s.id and t.project_id = p.id)
      union all
      select format('project %s is in the film %s', p.id, p.film_id) from keyframe.projects p
      where p.film_id is not null and not exists (select from keyframe.films f where f.id = p.film_id and f.owner_id = p.owner_id)`,
  },
  shots_have_one_place: {
    sentence: "each shot has a place of its own in its film",
    broken: `
      select format('%s shots of the film %s are at %s', count(*), film_id, film_position) as broken from keyframe.projects
      where film_id is not null group by film_id, film_position having count(*) > 1 or film_position is null`,
  },
} satisfies Record<string, Invariant>;

/** The order of statuses. Null for one that no answer may have. */
const RANK = `case when status in ('succeeded', 'failed', 'canceled') then 4
  else array_position(array['queued', 'starting', 'processing'], status) end`;

/** The statuses that users got, by any request. */
export const statusInvariants = {
  status_never_goes_back: {
    sentence: "the status that a user got never went back, and an end stayed the same",
    broken: `
      select format('prediction %s was %s and then %s (%s)', prediction_id, before, status, code) as broken
      from (
        select t.*, ${RANK} as rank, lag(t.status) over said as before, lag(${RANK}) over said as rank_before
        from chaos.status_answers t window said as (partition by t.reader, t.prediction_id order by t.n)
      ) s
      where rank is null or rank < rank_before or (rank_before = 4 and status <> before)`,
  },
  last_status_is_final: {
    sentence: "the last status that a user got is the prediction's own",
    broken: `
      select format('prediction %s is %s, and the last status its user got is %s (%s)', p.id, p.status, t.status, t.code) as broken
      from (
        select distinct on (reader, prediction_id) * from chaos.status_answers order by reader, prediction_id, n desc
      ) t
      join keyframe.predictions p on p.id = t.prediction_id
      where p.status::text <> t.status`,
  },
} satisfies Record<string, Invariant>;
