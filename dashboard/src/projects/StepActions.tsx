import { Group, NativeSelect, Text } from "@mantine/core";
import { useWindowEvent } from "@mantine/hooks";
import { useRef, useState } from "react";
import type { Prediction, Step } from "../../../client/index.ts";
import { isRunning, type useCancel } from "../queries/project-queries.ts";
import type { StepSetup } from "../step-settings/step-setup.ts";
import { cancelWords, estimateWords, exceedsBalance, overBudgetWords, takesOf } from "../takes/cost-words.ts";
import { STEP_NAME } from "../takes/status-words.ts";
import classes from "../takes/strip.module.css";
import { BusyButton } from "../ui/Buttons.tsx";
import { textProblem } from "../ui/errors.ts";
import { IconPlayerPlay, IconPlayerStop, IconReload } from "../ui/Icons.tsx";
import { CreditLink } from "../ui/Notices.tsx";
import { movesFocus } from "../ui/dialog-focus.ts";
import { counted } from "../ui/words.ts";
import type { StripState } from "./use-strip.ts";
import { useEstimate, type useStartStep } from "./use-start.ts";

type Props = {
  strip: StripState;
  setup: StepSetup;
  /** Whether this start is the next action on the page. */
  isNext: boolean;
  /** Why the step cannot start yet. */
  notYet: string | null;
  starting: ReturnType<typeof useStartStep>;
  cancel: ReturnType<typeof useCancel>;
};

const TAKES = Array.from({ length: 8 }, (_, at) => ({ value: `${at + 1}`, label: counted(at + 1, "take") }));

export function StepActions({ strip, setup, isNext, notYet, starting, cancel }: Props) {
  const { project, texts, plan } = strip;
  const { step, options } = setup;
  const [count, setCount] = useState("1");
  const choices = {
    seed: options.seed ?? undefined,
    elements: options.elements ?? undefined,
    count: count === "1" ? undefined : Number(count),
  };
  const startButton = useRef<HTMLButtonElement>(null);
  const latest = project.predictions[step];
  const running = isRunning(latest) ? latest : null;
  const isDisabled = notYet !== null || running !== null || !hasGoodTexts(setup);
  const { estimate, isOld, refusal } = useEstimate({
    project,
    step,
    options,
    choices: { ...choices, prompt: unsavedPrompt(strip, setup) },
    isSaved: plan.isSaved,
    isEnabled: !isDisabled,
  });
  // A used budget is only a warning: the service decides when the step starts. An error of a start replaces the warning.
  const overBudget = estimate && overBudgetWords(estimate, takesOf(Number(count)));
  const problem = notYet ?? (starting.error === null ? (refusal ?? overBudget) : null);

  const start = () => starting.start(choices, options);
  useWindowEvent("keydown", (event) => {
    if (!isToGenerate(event, step, isNext)) return;
    event.preventDefault();
    if (!isDisabled && !starting.isStarting) start();
  });

  const Icon = latest === null ? IconPlayerPlay : IconReload;
  const words = texts.isDirty ? "Save and generate" : latest === null ? "Generate" : "Generate again";
  const name = STEP_NAME[step].toLowerCase();
  return (
    <div className={classes.actions}>
      <Group gap="xs">
        <BusyButton
          ref={startButton}
          size="sm"
          variant={isNext ? "filled" : "default"}
          isBusy={starting.isStarting}
          isDisabled={isDisabled}
          aria-label={`${words}: ${name}`}
          aria-describedby={`estimate-${step} problem-${step}`}
          aria-keyshortcuts="Control+Enter"
          leftSection={<Icon size={16} />}
          onClick={start}
        >
          {words}
        </BusyButton>
        <NativeSelect
          size="sm"
          aria-label={`Takes: ${name}`}
          rightSectionProps={{ "aria-hidden": true }}
          data={TAKES}
          value={count}
          onChange={({ currentTarget }) => setCount(currentTarget.value)}
        />
        {running !== null && (
          <CancelButton running={running} cancel={cancel} moveFocus={() => startButton.current?.focus()} />
        )}
        <Text
          size="sm"
          id={`estimate-${step}`}
          hidden={estimate === null}
          c={isOld ? "dimmed" : "inherit"}
          td={isOld ? "line-through" : "none"}
          data-old={isOld || undefined}
        >
          {estimate && estimateWords(estimate)}
        </Text>
      </Group>
      <Text size="sm" mt={6} id={`problem-${step}`} hidden={!problem && running === null}>
        {problem ?? (running && cancelWords([running]))}
        {problem && problem === overBudget && estimate && exceedsBalance(estimate) && (
          <>
            {" "}
            <CreditLink />
          </>
        )}
      </Text>
    </div>
  );
}

/** Ctrl+Enter generates the step that has the focus, or the next one. */
function isToGenerate({ target, key, ctrlKey, metaKey }: KeyboardEvent, step: Step, isNext: boolean): boolean {
  if (key !== "Enter" || !(ctrlKey || metaKey) || !(target instanceof Element)) return false;
  if (target.closest("[role=dialog]")) return false;
  const card = target.closest("article");
  return card === null ? isNext : card.dataset.step === step;
}

type CancelProps = Pick<Props, "cancel"> & { running: Prediction; moveFocus: () => void };

/** The button disappears when the prediction ends: then the focus moves. */
function CancelButton({ running, cancel, moveFocus }: CancelProps) {
  const words = cancel.isPending ? "Canceling…" : "Cancel";
  return (
    <BusyButton
      ref={movesFocus(moveFocus)}
      variant="default"
      size="sm"
      isBusy={cancel.isPending}
      aria-label={`${words}: ${STEP_NAME[running.step].toLowerCase()}`}
      leftSection={<IconPlayerStop size={16} />}
      onClick={() => cancel.mutate([running])}
    >
      {words}
    </BusyButton>
  );
}

const hasGoodTexts = ({ model, options: { prompt, negativePrompt } }: StepSetup) =>
  textProblem(prompt ?? "", model?.promptMaxLength) === null &&
  textProblem(negativePrompt ?? "", model?.controls.negativePrompt?.maxLength) === null;

/** The project's unsaved prompt, for the price. Undefined if the prompt is saved or not used. */
function unsavedPrompt({ project, texts }: StripState, { options }: StepSetup): string | undefined {
  const { textPrompt } = texts.texts;
  const isUsed = options.prompt == null && textPrompt !== project.textPrompt && textPrompt.trim() !== "";
  return isUsed ? textPrompt : undefined;
}
