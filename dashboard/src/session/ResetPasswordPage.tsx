import { Anchor, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { Link } from "react-router";
import { useServices } from "../services.ts";
import { MailSent, pageAddress } from "./MailSent.tsx";
import { EmailField, focusFirstError, SessionForm } from "./SessionForm.tsx";
import { checkEmail, useAuthForm } from "./use-auth-form.ts";

/** Does not reveal whether the account exists. */
export function Component() {
  const { auth } = useServices();
  const [sentTo, setSentTo] = useState<string | null>(null);
  const { run, isBusy, problem } = useAuthForm(async (email: string) => {
    const answer = await auth.resetPasswordForEmail(email, { redirectTo: pageAddress() });
    if (!answer.error) setSentTo(email);
    return answer;
  });
  const form = useForm({ mode: "uncontrolled", initialValues: { email: "" }, validate: { email: checkEmail } });
  if (sentTo !== null) {
    return <MailSent text={`If an account with ${sentTo} exists, we sent a reset link to that address.`} />;
  }
  return (
    <SessionForm
      title="Reset your password"
      submit="Send reset link"
      problem={problem}
      isBusy={isBusy}
      onSubmit={form.onSubmit(({ email }) => run(email), focusFirstError(form))}
      links={
        <Anchor component={Link} to="/sign-in" size="sm">
          Back to sign-in
        </Anchor>
      }
    >
      <Text size="sm" c="dimmed">
        We email you a link to set a new password.
      </Text>
      <EmailField key={form.key("email")} {...form.getInputProps("email")} />
    </SessionForm>
  );
}
