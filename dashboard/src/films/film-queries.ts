import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Film, FilmWithShots, KeyframeClient, Prediction, ProjectWithPredictions } from "../../../client/index.ts";
import { filmKeys, projectKeys, steadyTakes } from "../projects/prediction-cache.ts";
import { isGone } from "../ui/errors.ts";
import { useKeyframe, useOnce } from "../services.ts";

const A_PAGE = 30;
const LOOK_MS = 10_000;

export function useFilms() {
  const keyframe = useKeyframe();
  return useInfiniteQuery({
    queryKey: filmKeys.list,
    queryFn: ({ pageParam: cursor, signal }) => keyframe.films.list({ limit: A_PAGE, cursor }, { signal }),
    initialPageParam: undefined as string | undefined, // the first page has no cursor
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
}

/** All films, to choose one. */
export function useFilmChoice(enabled: boolean) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: filmKeys.choice,
    queryFn: ({ signal }) => Array.fromAsync(keyframe.films.each({ limit: 100 }, { signal })),
    enabled,
  });
}

/** A film with its shots; without an id nothing is read. */
export function useFilm(filmId: string | null) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: filmKeys.one(filmId),
    queryFn: async ({ signal }): Promise<FilmWithShots> => {
      const film = await keyframe.films.read(filmId ?? "", { signal });
      return { ...film, shots: film.shots.map((shot) => ({ ...shot, takes: steadyTakes(shot.takes) })) };
    },
    enabled: filmId !== null,
    refetchInterval: ({ state }) => (isGone(state.error) ? false : LOOK_MS),
  });
}

/** The shown last frame of the shot before. Null: there is none. Undefined: the film is not read yet. */
export function useFrameBefore({ filmId, projectId }: ProjectWithPredictions): Prediction | null | undefined {
  const { data, isLoading } = useFilm(filmId);
  if (isLoading) return undefined;
  const place = data?.projectIds.indexOf(projectId) ?? -1;
  return data?.shots[place - 1]?.takes["last-frame"] ?? null;
}

export function useCreateFilm(onCreated: (film: Film) => void) {
  const queries = useQueryClient();
  return useOnce(
    (keyframe, title: string, once) => keyframe.films.create({ title }, once),
    (film) => {
      void queries.invalidateQueries({ queryKey: filmKeys.list });
      onCreated(film);
    },
  );
}

/** Changes a film as it was read. An order is shown at once; a change that is refused is read again. */
export function useChangeFilm(film: Film) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const queryKey = filmKeys.one(film.filmId);
  const show = async (change: Partial<Film>) => {
    await queries.cancelQueries({ queryKey });
    const before = queries.getQueryData<FilmWithShots>(queryKey);
    queries.setQueryData(queryKey, before && withChange(before, change));
    return before;
  };
  return useMutation({
    mutationFn: (change: Parameters<KeyframeClient["films"]["change"]>[1]) =>
      keyframe.films.change(film.filmId, change, { unchangedSince: film }),
    onMutate: ({ projectIds }) => show(projectIds ? { projectIds } : {}),
    onSuccess: async (changed) => {
      await show(changed);
      void queries.invalidateQueries({ queryKey: filmKeys.list });
    },
    onError: (_error, _change, before) => {
      queries.setQueryData(queryKey, before);
      void queries.invalidateQueries({ queryKey });
    },
  });
}

function withChange(known: FilmWithShots, change: Partial<Film>): FilmWithShots {
  const film = { ...known, ...change };
  const shots = film.projectIds.flatMap((id) => known.shots.find(({ projectId }) => projectId === id) ?? []);
  return { ...film, shots };
}

/** Deletes a film; its projects stay. */
export function useDeleteFilm(film: Film, onDeleted: () => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => keyframe.films.delete(film.filmId),
    onSuccess: () => {
      onDeleted();
      queries.removeQueries({ queryKey: filmKeys.one(film.filmId) });
      void queries.invalidateQueries({ queryKey: filmKeys.list });
      void queries.invalidateQueries({ queryKey: projectKeys.lists });
    },
  });
}
