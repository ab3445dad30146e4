import { Anchor, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "react-router";
import { useServices } from "../app/services-context.ts";

type Props = { text: string; children?: ReactNode };

/** Stands where the form was: what happens next is in a mail. */
export function MailSent({ text, children }: Props) {
  useDocumentTitle("Look into your mail · Keyframe");
  const { config } = useServices();
  const heading = useRef<HTMLHeadingElement>(null);
  // The button that led here is gone; without this the focus would be nowhere and nothing would be read out.
  useEffect(() => heading.current?.focus(), []);
  return (
    <Stack>
      <Title order={1} size="h3" ref={heading} tabIndex={-1} style={{ outline: "none" }}>
        Look into your mail
      </Title>
      <Text>{text}</Text>
      {config.demoUser !== null && (
        <Text size="sm" c="dimmed">
          This is a stack on your own machine: it sends no mail, and shows it at{" "}
          <Anchor href={`${config.supabaseUrl}/mail`} underline="always">{`${config.supabaseUrl}/mail`}</Anchor>.
        </Text>
      )}
      {children}
      <Anchor component={Link} to="/sign-in" size="sm">
        Back to sign-in
      </Anchor>
    </Stack>
  );
}
