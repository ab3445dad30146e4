import { useQuery } from "@tanstack/react-query";
import type { Step } from "../../../client/index.ts";
import { useServices } from "../app/services-context.ts";
import { type Model, readModels } from "./read-models.ts";

const CHANGES_SELDOM_MS = 5 * 60_000;

/** The model that serves each step now. Empty until it is known: then nothing is offered that depends on it. */
export function useModels(): Partial<Record<Step, Model>> {
  const { openSupabase } = useServices();
  const { data } = useQuery({
    queryKey: ["models"],
    queryFn: async ({ signal }) => {
      const supabase = await openSupabase();
      const columns = "step, model, durations, max_references";
      const table = supabase.from("models").select(columns).eq("is_default", true);
      const { data: rows, error } = await table.abortSignal(signal);
      if (error) throw error;
      return readModels(rows);
    },
    staleTime: CHANGES_SELDOM_MS,
  });
  return data ?? {};
}
