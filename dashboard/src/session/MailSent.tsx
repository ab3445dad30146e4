import { Anchor, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";
import { FormLink } from "./SessionForm.tsx";
import { useServices } from "../services.ts";
import { focusOnMount } from "../ui/dialog-focus.ts";

/** Replaces the form after an email was sent. */
export function MailSent({ text, children }: { text: string; children?: ReactNode }) {
  useDocumentTitle("Check your email · Keyframe");
  const { config } = useServices();
  // The button that had the focus is gone. The title gets it, so that screen readers continue here.
  return (
    <Stack>
      <Title order={1} size="h3" ref={focusOnMount} tabIndex={-1} style={{ outline: "none" }}>
        Check your email
      </Title>
      <Text>{text}</Text>
      {config.demoUser !== null && (
        <Text size="sm" c="dimmed">
          The local stack sends no email. Read it at{" "}
          <Anchor href={`${config.supabaseUrl}/mail`} underline="always">{`${config.supabaseUrl}/mail`}</Anchor>.
        </Text>
      )}
      {children}
      <FormLink to="/sign-in">Back to sign-in</FormLink>
    </Stack>
  );
}

/** The target of links in emails: this page without its fragment. */
export const pageAddress = (): string => window.location.href.split("#")[0] ?? window.location.origin;
