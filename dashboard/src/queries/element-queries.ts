import { useMutation, useQuery } from "@tanstack/react-query";
import type { Element, Film } from "../../../client/index.ts";
import { useKeyframe, useOnce } from "../services.ts";

/** All elements of this user, newest first. */
export function useElements(enabled = true) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: ["elements"],
    queryFn: ({ signal }) => Array.fromAsync(keyframe.elements.each({ limit: 100 }, { signal })),
    enabled,
  });
}

export type ElementFields = Pick<Element, "kind" | "name" | "text" | "imagePaths">;

/** Creates an element in the cast of a film. */
export const useCreateElement = ({ filmId, elementIds }: Film, onSaved: () => void) =>
  useOnce(async (keyframe, fields: ElementFields, once) => {
    const { elementId } = await keyframe.elements.create(fields, once);
    if (!elementIds.includes(elementId))
      await keyframe.films.change(filmId, { elementIds: [...elementIds, elementId] });
  }, onSaved);

/** Changes an element, unless it has changed since it was read. */
export function useChangeElement(element: Element | null, onSaved: () => void) {
  const keyframe = useKeyframe();
  return useMutation({
    mutationFn: (fields: ElementFields) =>
      keyframe.elements.change(element?.elementId ?? "", fields, { unchangedSince: element ?? undefined }),
    onSuccess: onSaved,
  });
}

export function useDeleteElement({ elementId }: Element, onDeleted: () => void) {
  const keyframe = useKeyframe();
  return useMutation({ mutationFn: () => keyframe.elements.delete(elementId), onSuccess: onDeleted });
}
