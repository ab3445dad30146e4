import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { UsageGroup } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";

/** This month's sums, by UTC, and the budgets. */
export function useUsage(groupBy: UsageGroup) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: ["usage", groupBy],
    queryFn: ({ signal }) => keyframe.usage({ groupBy }, { signal }),
    placeholderData: keepPreviousData,
  });
}
