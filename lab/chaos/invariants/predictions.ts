import type { Invariant } from "./ledger-tables.ts";

/**
 * Whether nothing proves whose a provider run is: it has no file, no callback of it was accepted (a fault, or the database was locked at
 * each repetition), and two starts have its prompt.
 */
const UNPROVABLE = `
  not r.has_file and not r.callback_accepted
  and (select count(*) from chaos.starts s where s.prompt = r.prompt) > 1`;

/** The order of statuses. Null for one that no answer may have. */
const RANK = `case when status in ('succeeded', 'failed', 'canceled') then 4
  else array_position(array['queued', 'starting', 'processing'], status) end`;

export const predictionInvariants = {
  accepted_starts_are_there: {
    sentence: "each accepted start has its row, unless it, its project or its account was deleted",
    broken: `
      select format('prediction %s of project %s is missing', s.prediction_id, s.project_id) as broken
      from chaos.starts s left join keyframe.predictions p on p.id = s.prediction_id
      where s.prediction_id is not null and p.id is null and exists (select from auth.users u where u.id = s.owner_id)
        and s.prediction_id not in (select id from chaos.deletions)
        and not (s.project_id in (select id from chaos.deletions)
          and not exists (select from keyframe.projects j where j.id = s.project_id))`,
  },
  ends_have_one_event: {
    sentence: "each succeeded or failed prediction has exactly one event, of its type; a canceled one has none",
    broken: `
      select format('prediction %s is %s and has %s events: %s', p.id, p.status, count(e.id), string_agg(e.type, ', ')) as broken
      from keyframe.predictions p
      left join keyframe.webhook_events e on e.prediction_id = p.id and e.type like 'generation.%'
      group by p.id, p.status
      having coalesce(array_agg(e.type) filter (where e.id is not null), '{}')
        <> case when p.status in ('succeeded', 'failed') then array['generation.' || p.status] else '{}' end`,
  },
  keys_have_one_effect: {
    sentence: "a repeated key creates nothing twice: one answer, one row for each take, of several takes all or none",
    broken: `
      select format('key %s made %s', key, string_agg(distinct id, ', ')) as broken
      from chaos.answers group by key having count(distinct id) > 1
      union all
      select format('%s predictions have the prompt of key %s, which requested %s, of which %s were accepted', count(p.id), s.key, s.takes, s.accepted)
      from (
        select key, prompt, project_id, count(*) as takes, count(prediction_id) as accepted,
          project_id in (select id from chaos.deletions) or owner_id not in (select id from auth.users)
            or coalesce(bool_or(prediction_id in (select id from chaos.deletions)), false) or bool_or(refusal = 'deleted') as deleted
        from chaos.starts group by key, prompt, project_id, owner_id
      ) s
      left join keyframe.predictions p on p.input ->> 'prompt' = s.prompt and p.project_id = s.project_id
      group by s.key, s.prompt, s.project_id, s.takes, s.accepted, s.deleted
      having count(p.id) > s.takes or s.deleted is not true and count(p.id) <> s.accepted
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
    sentence: "each provider run belongs to the prediction it was made for, and none is canceled for another one",
    broken: `
      select format('run %s was made for %s and is in a row of %s', r.id, r.made_for, o.prediction_id) as broken
      from chaos.runs r join keyframe_private.provider_submits o on o.provider_prediction_id = r.id where o.prediction_id <> r.made_for
      union all
      select format('run %s was made for %s, and %s follows it', r.id, r.made_for, p.id)
      from chaos.runs r join keyframe.predictions p on p.provider_prediction_id = r.id where p.id <> r.made_for
      union all
      select format('run %s of %s was canceled, which is %s', r.id, r.made_for, coalesce(p.status::text, 'not known as its prediction'))
      from chaos.runs r left join keyframe_private.provider_submits o on o.provider_prediction_id = r.id and o.prediction_id = r.made_for
      left join keyframe.predictions p on p.provider_prediction_id = r.id
      where r.cancel_requested and (o.id is null or p.status = 'succeeded')`,
  },
  runs_are_real: {
    sentence: "no row names a provider run that the provider never made (a forged callback's)",
    broken: `
      select format('run %s of prediction %s', o.provider_prediction_id, o.prediction_id) as broken
      from keyframe_private.provider_submits o left join chaos.runs r on r.id = o.provider_prediction_id
      where o.provider_prediction_id is not null and r.id is null`,
  },
  runs_have_ended: {
    sentence: "no provider run goes on",
    broken: `
      select format('run %s is %s: %s', id, status, prompt) as broken from chaos.runs where status in ('starting', 'processing')`,
  },
  submits_ended_as_their_runs: {
    sentence: "each submit ended as its provider run did, with what the provider counted, also of what was deleted",
    broken: `
      select format('run %s is %s, and its submit ended as %s (%s)', r.id, r.status, o.outcome, o.metrics) as broken
      from chaos.runs r join keyframe_private.provider_submits o on o.provider_prediction_id = r.id
      where replace(o.outcome, 'rejected', 'failed') <> r.status or o.metrics is null
      union all
      select format('prediction %s has %s submits of %s attempts', p.id, count(distinct o.attempt), p.attempt)
      from keyframe.predictions p left join keyframe_private.provider_submits o on o.prediction_id = p.id and o.submitted_at is not null
      group by p.id having count(distinct o.attempt) <> p.attempt`,
  },
  status_never_goes_back: {
    sentence: "the status that a user got never went back, and an end stayed the same",
    broken: `
      select format('prediction %s was %s and then %s', prediction_id, before, status) as broken
      from (
        select t.*, ${RANK} as rank, lag(t.status) over said as before, lag(${RANK}) over said as rank_before
        from chaos.statuses t window said as (partition by t.reader, t.prediction_id order by t.n)
      ) s
      where rank is null or rank < rank_before or (rank_before = 4 and status <> before)`,
  },
} satisfies Record<string, Invariant>;
