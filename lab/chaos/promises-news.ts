import type { Promised } from "./promises.ts";

/** As a number that only grows. Null for what no answer may say. */
const RANK = `case when status in ('succeeded', 'failed', 'canceled') then 4
  else array_position(array['queued', 'starting', 'processing'], status) end`;

/** What users are told of their predictions, however they ask: starting, cancelling, waiting, polling with a tag and without. */
export const newsPromises = {
  news_goes_forward: {
    sentence: "what a user was told of a prediction never went back, and an end stayed the same",
    broken: `
      select format('prediction %s was %s and then %s (%s)', prediction_id, before, status, code) as broken
      from (
        select t.*, ${RANK} as rank, lag(t.status) over said as before, lag(${RANK}) over said as rank_before
        from chaos.tellings t window said as (partition by t.reader, t.prediction_id order by t.n)
      ) s
      where rank is null or rank < rank_before or (rank_before = 4 and status <> before)`,
  },
  news_ends_true: {
    sentence: "the last that a user was told of a prediction is how it ended",
    broken: `
      select format('prediction %s is %s, and its user was told last that it is %s (%s)', p.id, p.status, t.status, t.code) as broken
      from (
        select distinct on (reader, prediction_id) * from chaos.tellings order by reader, prediction_id, n desc
      ) t
      join keyframe.predictions p on p.id = t.prediction_id
      where p.status::text <> t.status`,
  },
} satisfies Record<string, Promised>;
