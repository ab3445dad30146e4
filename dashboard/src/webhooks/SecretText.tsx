import { Box, Group, Text } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { BusyButton } from "../ui/BusyButton.tsx";
import classes from "./secret.module.css";

type Props = {
  secret: string;
  /** What else can be done with it. */
  actions?: ReactNode;
};

/** A secret that may be seen now, to copy. */
export function SecretText({ secret, actions }: Props) {
  const { copy, copied, error } = useClipboard({ timeout: 3_000 });
  return (
    <div>
      <Box component="code" className={classes.secret}>
        {secret}
      </Box>
      <Group gap="xs" mt="xs">
        <BusyButton
          size="xs"
          variant="default"
          leftSection={copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
          onClick={() => copy(secret)}
        >
          {copied ? "Copied" : "Copy the secret"}
        </BusyButton>
        {actions}
        <Text size="xs" role="status">
          {error !== null && "Your browser does not let us copy. Select it and copy it yourself."}
        </Text>
      </Group>
    </div>
  );
}
