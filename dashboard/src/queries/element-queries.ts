import { useQuery } from "@tanstack/react-query";
import type { Element, Film, Project } from "../../../client/index.ts";
import { useKeyframe, useServices } from "../services.ts";
import type { Ids } from "../session/UserMemory.tsx";
import { checkRows } from "./check-answer.ts";
import { useSelectShown } from "./delete-later.ts";
import { useFilm } from "./film-queries.ts";
import { queryKeys } from "./query-keys.ts";
import { useOnce } from "./use-once.ts";

export function useElements(enabled = true) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: queryKeys.elements,
    queryFn: ({ signal }) => Array.fromAsync(keyframe.elements.each({ limit: 100 }, { signal })),
    select: useSelectShown(withoutDeletedElements),
    enabled,
  });
}

const withoutDeletedElements = (elements: Element[], deleted: Ids) =>
  elements.filter(({ elementId }) => !deleted.has(elementId));

/** The elements of a shot: its film's cast, and its own list if it has one. Empty until they are read. */
export function useCast({ filmId, elementIds }: Pick<Project, "filmId" | "elementIds">) {
  const { data: film } = useFilm(filmId);
  const ofFilm = film?.elementIds ?? [];
  const { data: elements = [] } = useElements(ofFilm.length + (elementIds?.length ?? 0) > 0);
  const withIds = (ids: string[]) => ids.flatMap((id) => elements.find(({ elementId }) => elementId === id) ?? []);
  return { ofFilm: withIds(ofFilm), own: elementIds && withIds(elementIds) };
}

export type ElementFields = Pick<Element, "kind" | "name" | "text" | "imagePaths">;

/** Changes an element, unless somebody else has. Without an element, creates one. With a film, adds it to the film's cast. */
export const useSaveElement = (element: Element | null, film: Film | null, onSaved: () => void) =>
  useOnce(async (keyframe, fields: ElementFields, once) => {
    if (element !== null) return await keyframe.elements.change(element.elementId, fields, { unchangedSince: element });
    const created = await keyframe.elements.create(fields, once);
    if (film !== null && !film.elementIds.includes(created.elementId))
      await keyframe.films.change(film.filmId, { elementIds: [...film.elementIds, created.elementId] });
    return created;
  }, onSaved);

type OwnCast = { projectId: string; title: string; elementIds: string[] };
/** The Data API answers at most a thousand rows. */
const A_PAGE = 1000;

/** The shots that have elements of their own. Shots with their film's cast are not among them. */
export function useOwnCasts(enabled: boolean) {
  const { callPlatform } = useServices();
  return useQuery({
    queryKey: queryKeys.ownCasts,
    queryFn: async ({ signal }) => {
      const path =
        "/rest/v1/projects?select=projectId:id,title,elementIds:element_ids&element_ids=not.is.null&order=id";
      const all: OwnCast[] = [];
      for (;;) {
        const answer = await callPlatform(`${path}&limit=${A_PAGE}&offset=${all.length}`, { signal });
        const page = checkRows(answer, { projectId: "text", title: "text", elementIds: "texts" });
        all.push(...page);
        if (page.length < A_PAGE) return all;
      }
    },
    enabled,
  });
}
