import { Button, Checkbox, Collapse, Stack, Textarea } from "@mantine/core";
import { useDisclosure, useId } from "@mantine/hooks";
import { IconAdjustmentsHorizontal } from "@tabler/icons-react";
import { textProblem } from "../projects/project-fields.tsx";
import type { Model } from "./use-models.ts";

type Props = {
  options: StepOptions;
  onChange: (options: StepOptions) => void;
  hasReference: boolean;
  model: Model | undefined;
  isVideo: boolean;
};

export function StepSettings({ options, onChange, hasReference, model, isVideo }: Props) {
  const [isOpen, { toggle }] = useDisclosure(false);
  const id = useId();
  const takesNone = model?.maxReferences === 0;
  return (
    <div>
      <Button
        variant="subtle"
        size="compact-sm"
        ml={-8}
        aria-expanded={isOpen}
        aria-controls={id}
        leftSection={<IconAdjustmentsHorizontal size={16} aria-hidden />}
        onClick={toggle}
      >
        {options.prompt.trim() === "" ? "Settings" : "Settings: custom prompt"}
      </Button>
      <Collapse expanded={isOpen} id={id}>
        <Stack gap="sm" pt="xs">
          <Textarea
            label="Prompt for this step"
            description="Leave empty to use the project's prompt."
            autosize
            minRows={2}
            maxRows={8}
            value={options.prompt}
            error={textProblem(options.prompt)}
            onChange={({ currentTarget }) => onChange({ ...options, prompt: currentTarget.value })}
          />
          {!isVideo && hasReference && (
            <Checkbox
              label="Follow the reference image"
              description={takesNone ? `${model.name} does not take reference images.` : undefined}
              checked={options.usesReference && !takesNone}
              disabled={takesNone}
              onChange={({ currentTarget }) => onChange({ ...options, usesReference: currentTarget.checked })}
            />
          )}
        </Stack>
      </Collapse>
    </div>
  );
}

/** Settings for the next prediction of a step. */
export type StepOptions = {
  /** Empty: the project's prompt. */
  prompt: string;
  usesReference: boolean;
  /** Null: the model's default. */
  durationSeconds: number | null;
};

export const NO_OPTIONS: StepOptions = { prompt: "", usesReference: true, durationSeconds: null };
