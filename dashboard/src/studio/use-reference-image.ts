import { useLocalStorage } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useServices } from "../app/services-context.ts";

/** The path, or null when the person removed it. Undefined: nothing was chosen in this browser. */
type Choice = { path: string | null };

export type ReferenceImage = { path: string | null; choose: (path: string | null) => void };

/**
 * The reference image that the next frames are made with. Runs carry it, projects do not; so what was chosen is kept in this
 * browser, and before anything is chosen it is the one that the latest first frame was made with.
 */
export function useReferenceImage(projectId: string): ReferenceImage {
  const { openSupabase } = useServices();
  const [choice, setChoice] = useLocalStorage<Choice | undefined>({
    key: `keyframe-reference-${projectId}`,
    getInitialValueInEffect: false,
    deserialize: readChoice,
  });
  const { data: lastUsed } = useQuery({
    queryKey: ["last-reference", projectId],
    queryFn: async ({ signal }) => {
      const supabase = await openSupabase();
      const runs = supabase.from("predictions").select("reference_image_path");
      const ofStep = runs.eq("project_id", projectId).eq("step", "first-frame");
      const latest = ofStep.order("created_at", { ascending: false }).order("id", { ascending: false }).limit(1);
      const { data, error } = await latest.abortSignal(signal);
      if (error) throw error;
      return readPath(data[0]?.reference_image_path);
    },
    enabled: choice === undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return { path: choice === undefined ? (lastUsed ?? null) : choice.path, choose: (path) => setChoice({ path }) };
}

const readPath = (given: unknown): string | null => (typeof given === "string" ? given : null);

/** Local storage holds whatever was put there. */
function readChoice(text: string | undefined): Choice | undefined {
  try {
    const given: unknown = JSON.parse(text ?? "");
    if (typeof given === "object" && given !== null && "path" in given) return { path: readPath(given.path) };
  } catch {
    // Not ours.
  }
  return undefined;
}
