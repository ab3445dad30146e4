import { type InfiniteData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import type {
  Film,
  FilmPage,
  FilmWithShots,
  KeyframeClient,
  ProjectWithPredictions,
  Shot,
} from "../../../client/index.ts";
import { runningOf, WHILE_RUNNING_MS, withoutDeleted } from "./project-queries.ts";
import { useDeleted, withDeleted } from "./delete-later.tsx";
import { IS_SHOWN, PAGED } from "./query-client.ts";
import { isChangedElsewhere, isGone } from "../ui/errors.ts";
import { useKeyframe } from "../services.ts";

const A_PAGE = 30;
const LOOK_MS = 10_000;

const filmKey = (filmId: string | null) => ["film", filmId] as const;

export function useFilms() {
  const keyframe = useKeyframe();
  const deleted = useDeleted();
  return useInfiniteQuery({
    queryKey: ["films"],
    select: useCallback(
      (data: InfiniteData<FilmPage>) => ({
        ...data,
        pages: data.pages.map((page) => ({ ...page, films: shownFilms(page.films, deleted) })),
      }),
      [deleted],
    ),
    queryFn: ({ pageParam: cursor, signal }) => keyframe.films.list({ limit: A_PAGE, cursor }, { signal }),
    ...PAGED,
  });
}

const shownFilms = (films: Film[], deleted: ReadonlySet<string>): Film[] =>
  films.filter(({ filmId }) => !deleted.has(filmId));

export function useFilmChoice(enabled: boolean) {
  const keyframe = useKeyframe();
  const deleted = useDeleted();
  return useQuery({
    queryKey: ["all films"],
    select: useCallback((films: Film[]) => shownFilms(films, deleted), [deleted]),
    queryFn: ({ signal }) => Array.fromAsync(keyframe.films.each({ limit: 100 }, { signal })),
    enabled,
  });
}

/** To show what runs. A read uses a token of the user's rate limit, and one more for each ten shots, so a long film is read less often. */
export const pauseWhileRunning = (film?: FilmWithShots): number =>
  film?.shots.some((shot) => runningOf(shot).length > 0)
    ? Math.min(LOOK_MS, WHILE_RUNNING_MS * (1 + film.shots.length / 10))
    : LOOK_MS;

/** A film with its shots; without an id nothing is read. It is read again, because other pages and people may change it. */
export function useFilm(filmId: string | null, pauseOf: (film?: FilmWithShots) => number | false = () => LOOK_MS) {
  const keyframe = useKeyframe();
  const deleted = useDeleted();
  return useQuery({
    queryKey: filmKey(filmId),
    queryFn: ({ signal }) => keyframe.films.read(filmId ?? "", { signal }),
    select: useCallback((film: FilmWithShots) => withoutDeletedShots(film, deleted), [deleted]),
    enabled: filmId !== null,
    refetchInterval: ({ state: { data, error } }) => (isGone(error) ? false : pauseOf(data)),
  });
}

function withoutDeletedShots(film: FilmWithShots, deleted: ReadonlySet<string>): FilmWithShots {
  if (deleted.size === 0) return film;
  const shots = film.shots.map((shot) => withoutDeleted(shot, deleted));
  return inOrder({ ...film, shots, projectIds: film.projectIds.filter((id) => !deleted.has(id)) });
}

/** Whether a shot is planned to start where the previous one ends, and there is one. */
export const continuesPrevious = (shots: Shot[], at: number): boolean =>
  at > 0 && shots[at]?.plan.video?.continuesPreviousShot === true;

/** The previous shot in its film. Null: there is none. Undefined: the film is not read yet. */
export function usePreviousShot({ filmId, projectId }: ProjectWithPredictions): Shot | null | undefined {
  const { data, isLoading } = useFilm(filmId);
  if (isLoading) return undefined;
  const place = data?.projectIds.indexOf(projectId) ?? -1;
  return data?.shots[place - 1] ?? null;
}

/** Changes a film. The change is shown at once, so that the next one is based on it. An order is refused when the film has changed. */
export function useChangeFilm(film: Film) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const queryKey = filmKey(film.filmId);
  /** The order with the shots that are about to be deleted: one that is left out leaves the film. */
  const wholeOf = (shown: string[] | undefined) =>
    shown && withDeleted(queries.getQueryData<FilmWithShots>(queryKey)?.projectIds ?? shown, shown);
  return useMutation({
    meta: IS_SHOWN,
    mutationFn: (asked: Parameters<KeyframeClient["films"]["change"]>[1]) => {
      const change = { ...asked, projectIds: wholeOf(asked.projectIds) };
      return keyframe.films
        .change(film.filmId, change, { unchangedSince: change.projectIds && film })
        .catch(async (error) => {
          const signal = AbortSignal.timeout(LOOK_MS);
          const now = isChangedElsewhere(error)
            ? await keyframe.films.read(film.filmId, { signal }).catch(() => null)
            : null;
          if (now && String(now.projectIds) === String(change.projectIds)) return now; // the answer to an earlier try was lost
          throw error;
        });
    },
    onMutate: async (asked) => {
      const projectIds = wholeOf(asked.projectIds);
      await queries.cancelQueries({ queryKey });
      const before = queries.getQueryData<FilmWithShots>(queryKey);
      if (before && projectIds) queries.setQueryData(queryKey, inOrder({ ...before, projectIds }));
      return before;
    },
    onSuccess: (changed) =>
      queries.setQueryData<FilmWithShots>(queryKey, (known) => known && inOrder({ ...known, ...changed })),
    onError: (_error, { projectIds }, before) => projectIds && queries.setQueryData(queryKey, before),
  });
}

const inOrder = (film: FilmWithShots): FilmWithShots => ({
  ...film,
  shots: film.projectIds.flatMap((id) => film.shots.find(({ projectId }) => projectId === id) ?? []),
});
