import { Button, Checkbox, Collapse, Stack, Textarea } from "@mantine/core";
import { useDisclosure, useId } from "@mantine/hooks";
import { IconAdjustmentsHorizontal } from "@tabler/icons-react";
import type { Model } from "./read-models.ts";
import { isTooLong, type StepOptions } from "./step-options.ts";

type Props = {
  options: StepOptions;
  onChange: (options: StepOptions) => void;
  hasReference: boolean;
  model: Model | undefined;
  isVideo: boolean;
};

/** A prompt of its own for a step, and whether its frame follows the reference image. Folded away until wanted. */
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
        {options.prompt.trim() === "" ? "Settings" : "Settings: own prompt"}
      </Button>
      <Collapse expanded={isOpen} id={id}>
        <Stack gap="sm" pt="xs">
          <Textarea
            label="Prompt for this step alone"
            description="Empty: the project's prompt."
            autosize
            minRows={2}
            maxRows={8}
            value={options.prompt}
            error={isTooLong(options) ? "Must have at most 4000 characters." : null}
            onChange={({ currentTarget }) => onChange({ ...options, prompt: currentTarget.value })}
          />
          {!isVideo && hasReference && (
            <Checkbox
              label="Follow the reference image"
              description={takesNone ? `${model.name} takes none.` : undefined}
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
