import { Box, Group, Text } from "@mantine/core";
import { CopyButton } from "./CopyButton.tsx";
import classes from "./code.module.css";

type Props = {
  /** What it is, as "curl: A film in the making". */
  label: string;
  code: string;
};

/** Code to copy. What is too wide scrolls inside, also by keyboard. */
export function CodeBlock({ label, code }: Props) {
  return (
    <div className={classes.block}>
      <Group className={classes.head} justify="space-between" wrap="nowrap" gap="xs">
        <Text size="xs" className={classes.label}>
          {label}
        </Text>
        <CopyButton text={code} label={`Copy: ${label}`} short="Copy" size="compact-xs" variant="subtle" />
      </Group>
      <Box component="pre" className={classes.code} tabIndex={0} role="group" aria-label={label}>
        <code>{code}</code>
      </Box>
    </div>
  );
}
