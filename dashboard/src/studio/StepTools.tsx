import { ActionIcon, Tooltip } from "@mantine/core";
import { IconDownload, IconHistory } from "@tabler/icons-react";
import type { Prediction, Step } from "../../../client/index.ts";
import { STEP_NAME } from "../projects/step-words.ts";
import { useDownload } from "./use-download.ts";

type Props = { step: Step; shown: Prediction | null; title: string; hasRuns: boolean; onHistory: () => void };

/** To save what a step made, and to look at what it made before. */
export function StepTools({ step, shown, title, hasRuns, onHistory }: Props) {
  const download = useDownload(title);
  const name = STEP_NAME[step].toLowerCase();
  return (
    <ActionIcon.Group>
      {shown !== null && (
        <Tooltip label="Download">
          <ActionIcon
            variant="default"
            size="lg"
            aria-label={`Download the ${name}`}
            onClick={() => !download.isPending && download.mutate(shown)}
          >
            <IconDownload size={18} aria-hidden />
          </ActionIcon>
        </Tooltip>
      )}
      {hasRuns && (
        <Tooltip label="History">
          <ActionIcon
            variant="default"
            size="lg"
            aria-label={`History of the ${name}`}
            aria-haspopup="dialog"
            onClick={onHistory}
          >
            <IconHistory size={18} aria-hidden />
          </ActionIcon>
        </Tooltip>
      )}
    </ActionIcon.Group>
  );
}
