import { Box } from "@mantine/core";
import { CopyButton } from "../ui/CopyButton.tsx";
import classes from "./webhooks.module.css";

export function SecretText({ secret }: { secret: string }) {
  return (
    <div>
      <Box component="code" className={classes.secret}>
        {secret}
      </Box>
      <CopyButton text={secret} label="Copy secret" size="xs" mt="xs" />
    </div>
  );
}
