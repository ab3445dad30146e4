import { type InfiniteData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type {
  Film,
  FilmPage,
  FilmWithShots,
  KeyframeClient,
  ProjectWithPredictions,
  Shot,
} from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import type { Ids } from "../session/UserMemory.tsx";
import { isChangedElsewhere, isGone } from "../ui/errors.ts";
import { useDeleted, useSelectShown, withDeleted } from "./delete-later.ts";
import { runningOf, WHILE_RUNNING_MS, withoutDeleted } from "./project-queries.ts";
import { IS_SHOWN, PAGED } from "./query-client.ts";
import { queryKeys } from "./query-keys.ts";

const A_PAGE = 30;
const REFRESH_MS = 10_000;

const withoutDeletedFilms = (films: Film[], deleted: Ids) => films.filter(({ filmId }) => !deleted.has(filmId));
const shownOf = ({ pages }: InfiniteData<FilmPage>, deleted: Ids) =>
  withoutDeletedFilms(
    pages.flatMap(({ films }) => films),
    deleted,
  );

/** The films, page by page, newest first. */
export function useFilms() {
  const keyframe = useKeyframe();
  return useInfiniteQuery({
    queryKey: queryKeys.films,
    queryFn: ({ pageParam: cursor, signal }) => keyframe.films.list({ limit: A_PAGE, cursor }, { signal }),
    select: useSelectShown(shownOf),
    ...PAGED,
  });
}

export function useFilmChoice(enabled: boolean) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: queryKeys.allFilms,
    queryFn: ({ signal }) => Array.fromAsync(keyframe.films.each({ limit: 100 }, { signal })),
    select: useSelectShown(withoutDeletedFilms),
    enabled,
  });
}

/** The pause between reads. A read costs a token of the rate limit, plus one for each ten shots, so a long film is read less often. */
export const pauseWhileRunning = (film?: FilmWithShots): number =>
  film?.shots.some((shot) => runningOf(shot).length > 0)
    ? Math.min(REFRESH_MS, WHILE_RUNNING_MS * (1 + film.shots.length / 10))
    : REFRESH_MS;

/** A film with its shots. Without an id, nothing is read. The film is polled, because other pages and people may change it. */
export function useFilm(filmId: string | null, pauseOf: (film?: FilmWithShots) => number | false = () => REFRESH_MS) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: queryKeys.film(filmId),
    queryFn: ({ signal }) => keyframe.films.read(filmId ?? "", { signal }),
    select: useSelectShown(withoutDeletedShots),
    enabled: filmId !== null,
    refetchInterval: ({ state: { data, error } }) => (isGone(error) ? false : pauseOf(data)),
  });
}

function withoutDeletedShots(film: FilmWithShots, deleted: Ids): FilmWithShots {
  if (deleted.size === 0) return film;
  const shots = film.shots.map((shot) => withoutDeleted(shot, deleted));
  return inOrder({ ...film, shots, projectIds: film.projectIds.filter((id) => !deleted.has(id)) });
}

/** Whether a shot has a previous one, and is planned to start where that ends. */
export const continuesPrevious = (shots: Shot[], at: number): boolean =>
  at > 0 && shots[at]?.plan.video?.continuesPreviousShot === true;

/** The previous shot in the film. Null: there is none. Undefined: the film is not read yet. */
export function usePreviousShot({ filmId, projectId }: ProjectWithPredictions): Shot | null | undefined {
  const { data, isLoading } = useFilm(filmId);
  if (isLoading) return undefined;
  const place = data?.projectIds.indexOf(projectId) ?? -1;
  return data?.shots[place - 1] ?? null;
}

type Change = Parameters<KeyframeClient["films"]["change"]>[1];

/** Changes a film. The page shows the change at once, so that the next one builds on it. A new order fails if the film has changed. */
export function useChangeFilm(film: Film) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const queryKey = queryKeys.film(film.filmId);
  const deleted = useDeleted();
  /** The order with the shots that are about to be deleted: a shot that is left out leaves the film. */
  const wholeOf = (shown: string[] | undefined) =>
    shown && withDeleted(queries.getQueryData<FilmWithShots>(queryKey)?.projectIds ?? shown, shown, deleted);
  return useMutation({
    meta: IS_SHOWN,
    mutationFn: async (requested: Change) => {
      const change = { ...requested, projectIds: wholeOf(requested.projectIds) };
      try {
        return await keyframe.films.change(film.filmId, change, { unchangedSince: change.projectIds && film });
      } catch (error) {
        if (!isChangedElsewhere(error)) throw error;
        const signal = AbortSignal.timeout(REFRESH_MS);
        const now = await keyframe.films.read(film.filmId, { signal }).catch(() => null);
        if (now && String(now.projectIds) === String(change.projectIds)) return now; // the answer to an earlier try was lost
        throw error;
      }
    },
    onMutate: async (requested) => {
      const projectIds = wholeOf(requested.projectIds);
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
