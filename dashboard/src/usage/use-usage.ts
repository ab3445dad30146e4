import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { UsageGroup } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";

/** Of all estimates and sums. A start and an end change them. */
export const MONEY_KEY = ["money"];

/** This month's sums, by UTC, and the budgets. */
export function useUsage(groupBy: UsageGroup) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: [...MONEY_KEY, "usage", groupBy],
    queryFn: ({ signal }) => keyframe.usage({ groupBy }, { signal }),
    placeholderData: keepPreviousData,
  });
}
