import { Button, type ButtonProps, Code, Group, VisuallyHidden } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconAlertTriangle, IconCheck, IconCopy } from "./Icons.tsx";

type Props = ButtonProps & {
  text: string;
  /** For example “Copy link”. */
  label: string;
};

/** A text that one click selects, with its button. `name`: the text's name for screen readers. */
export const CopyText = ({ name, ...copied }: Props & { name?: string }) => (
  <>
    <Code block style={{ userSelect: "all" }} aria-label={name}>
      {copied.text}
    </Code>
    <Group>
      <CopyButton {...copied} />
    </Group>
  </>
);

/** Announces the outcome, even if the browser refuses to copy. */
export function CopyButton({ text, label, ...others }: Props) {
  const { copy, copied, error } = useClipboard({ timeout: 3_000 });
  const outcome = copied ? "Copied" : error === null ? "" : "Copy failed";
  const Icon = copied ? IconCheck : error === null ? IconCopy : IconAlertTriangle;
  return (
    <>
      <Button variant="default" {...others} onClick={() => copy(text)} leftSection={<Icon size={16} />}>
        {outcome || label}
      </Button>
      <VisuallyHidden role="status">{outcome}</VisuallyHidden>
    </>
  );
}
