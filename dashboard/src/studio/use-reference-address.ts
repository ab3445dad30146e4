import { type QueryClient, useQuery } from "@tanstack/react-query";
import { useServices } from "../app/services-context.ts";

const LIFE_S = 3600;
const referenceKey = (path: string | null) => ["reference", path] as const;

/** Where the browser finds a reference image of the person. Null `data`: there is none at this path (any more). */
export function useReferenceAddress(path: string | null) {
  const { openSupabase } = useServices();
  return useQuery({
    queryKey: referenceKey(path),
    queryFn: async () => {
      const name = path?.replace(/^projects\//, "") ?? "";
      const { storage } = await openSupabase();
      const { data } = await storage.from("projects").createSignedUrl(name, LIFE_S);
      return data?.signedUrl ?? null;
    },
    enabled: path !== null,
    staleTime: (LIFE_S / 2) * 1000,
    refetchInterval: (LIFE_S / 2) * 1000,
    retry: false,
  });
}

/** What was uploaded just now is shown from where it lies on the person's own device. */
export function showUploaded(queries: QueryClient, path: string, file: Blob): void {
  queries.setQueryData(referenceKey(path), URL.createObjectURL(file)); // refers to the file, and does not copy it
}
