import { useDebouncedValue, useDocumentVisibility } from "@mantine/hooks";
import { hashKey, keepPreviousData, useIsMutating, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Estimate, ProjectWithPredictions, Step, StepBody } from "../../../client/index.ts";
import type { StepOptions } from "../queries/plan-edits.ts";
import { mutationKeys, queryKeys } from "../queries/query-keys.ts";
import { useOnce } from "../queries/use-once.ts";
import { useKeyframe } from "../services.ts";
import { errorSentence, isRefusal } from "../ui/errors.ts";
import { notify } from "../ui/Notices.tsx";
import type { TextsState } from "./use-texts.ts";

/** The fields of a start that no plan has. */
export type Choices = Pick<StepBody["video"], "prompt" | "seed" | "elements" | "count">;

const bodyOf = (projectId: string, choices: Choices) => ({ projectId, ...choices }) as StepBody[Step]; // each step has these fields

const AFTER_TYPING_MS = 400;

type Priced = {
  project: ProjectWithPredictions;
  step: Step;
  choices: Choices;
  options: StepOptions;
  /** Whether the plan has these options: the service prices the saved plan. */
  isSaved: boolean;
  isEnabled: boolean;
};

/** The price of a start. Null: unknown, disabled or refused. `refusal`: why the input is refused. `isOld`: the price of former settings. */
export function useEstimate({ project, step, choices, options, isSaved, isEnabled }: Priced) {
  const keyframe = useKeyframe();
  const { projectId, takes, aspectRatio, textPrompt, elementIds, filmId, referenceImagePath } = project;
  const isSeen = useDocumentVisibility() === "visible";
  // The input depends on these. The project's version is not among them, because a new title changes it too.
  const inputKey = hashKey([
    choices,
    options,
    [aspectRatio, textPrompt, elementIds, filmId, referenceImagePath],
    takes["first-frame"]?.predictionId,
    takes["last-frame"]?.predictionId,
  ]);
  const [settled] = useDebouncedValue(inputKey, AFTER_TYPING_MS);
  const { data, error, isPlaceholderData } = useQuery<Estimate>({
    queryKey: queryKeys.estimate(projectId, step, inputKey),
    queryFn: ({ signal }) => keyframe.estimate(step, bodyOf(projectId, choices), { signal }),
    enabled: isEnabled && isSeen && isSaved && settled === inputKey,
    retry: false,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
  const isRefused = isEnabled && isRefusal(error, "invalid_request", "unsupported_input", "model_unavailable");
  return {
    estimate: isEnabled && error === null ? (data ?? null) : null,
    isOld: isPlaceholderData,
    refusal: isRefused ? errorSentence(error) : null,
  };
}

/** Everything that decides what a start makes. */
type Start = { choices: Choices; options: StepOptions; textPrompt: string; after: string | undefined };

/** A start saves unsaved texts first. Its button stays busy after a visit to another page, because a second start would cost money too. */
export function useStartStep(
  { projectId, predictions }: ProjectWithPredictions,
  step: Step,
  { texts, save }: TextsState,
) {
  const queries = useQueryClient();
  const mutationKey = mutationKeys.start(projectId, step);
  const { mutate, error, reset, variables } = useOnce(
    async (keyframe, { choices }: Start, once) => {
      await save();
      return keyframe.generate(step, bodyOf(projectId, choices), once);
    },
    // The prediction shows even if the project cannot be read again: it runs and costs money.
    (prediction) => {
      queries.setQueryData<ProjectWithPredictions>(
        queryKeys.project(projectId),
        (known) => known && { ...known, predictions: { ...known.predictions, [step]: prediction } },
      );
      const { length } = prediction.predictions ?? [];
      if (length > 1) notify(`${length} takes started.`);
    },
    mutationKey,
  );
  return {
    // `after` makes this a new request once the latest run is known, not a retry of one whose answer was lost.
    start: (choices: Choices, options: StepOptions) =>
      mutate({ choices, options, textPrompt: texts.textPrompt, after: predictions[step]?.predictionId }),
    isStarting: useIsMutating({ mutationKey }) > 0,
    error,
    count: variables?.choices.count ?? 1,
    /** After a change of the settings: the service may accept the new ones. */
    clearError: () => error !== null && reset(),
  };
}
