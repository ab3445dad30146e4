import { useQueryClient } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import type { Prediction, ProjectWithPredictions } from "../../../client/index.ts";
import { selectionOf, useChangeProject } from "../queries/project-queries.ts";
import { queryKeys } from "../queries/query-keys.ts";

export type TakesProps = {
  project: ProjectWithPredictions;
  selection: ReturnType<typeof useSelection>;
  view: ReturnType<typeof useTakesView>;
  /** Puts the inputs of a take into the settings for the next one. */
  onReuse: (take: Prediction) => void;
};

export const isUsed = ({ selected, takes }: ProjectWithPredictions, { step, predictionId }: Prediction): boolean =>
  predictionId === (selected[step] ?? takes[step]?.predictionId);

/** Selects takes for their steps. `change`: any change of the project that selects some. */
export function useSelection(project: ProjectWithPredictions) {
  const change = useChangeProject(project.projectId);
  const use = (take: Prediction) => {
    if (!isUsed(project, take)) change.mutate({ change: { selected: selectionOf(project, take) } });
  };
  return { change, use };
}

/** The used step, the step whose takes are listed, and the enlarged takes. The address has them, for a reload and a second tab. */
export function useTakesView() {
  const [address, setAddress] = useSearchParams();
  const queries = useQueryClient();
  const show = (at: Partial<Record<"step" | "takes" | "take", string | null>>) => {
    const all = Object.entries({ ...Object.fromEntries(address), ...at });
    setAddress(
      all.filter((entry): entry is [string, string] => entry[1] !== null),
      { replace: true },
    );
  };
  return {
    step: address.get("step"),
    listed: address.get("takes"),
    enlarged: address.get("take"),
    show,
    /** Enlarges one take, or two to compare, without another read. */
    enlarge: (...takes: Prediction[]) => {
      for (const take of takes) queries.setQueryData(queryKeys.prediction(take.predictionId), take);
      show({ take: takes.map(({ predictionId }) => predictionId).join() });
    },
  };
}
