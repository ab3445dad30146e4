import { Button, type ButtonProps, VisuallyHidden } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconAlertTriangle, IconCheck, IconCopy } from "@tabler/icons-react";

type Props = ButtonProps & {
  text: string;
  /** As "Copy address of openapi.json". */
  label: string;
  /** What is seen where there is little room: the beginning of the label, which is heard whole. */
  short?: string;
};

/** Copies a text, and says that it did. A browser that forbids it is told too. */
export function CopyButton({ text, label, short = label, ...others }: Props) {
  const { copy, copied, error } = useClipboard({ timeout: 3_000 });
  const outcome = copied ? "Copied" : error === null ? "" : "Select it to copy";
  const Icon = copied ? IconCheck : error === null ? IconCopy : IconAlertTriangle;
  return (
    <>
      <Button
        variant="default"
        {...others}
        aria-label={outcome === "" ? label : undefined}
        onClick={() => copy(text)}
        leftSection={<Icon size={16} aria-hidden />}
      >
        {outcome || short}
      </Button>
      <VisuallyHidden role="status">{outcome}</VisuallyHidden>
    </>
  );
}
