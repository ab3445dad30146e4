import { Text } from "@mantine/core";
import { useState } from "react";
import { useServices } from "../services.ts";
import { MailSent, pageAddress } from "./MailSent.tsx";
import { EmailField, FormLink, SessionForm } from "./SessionForm.tsx";
import { checkEmail, useAuthForm } from "./use-auth-form.ts";

/** The page does not reveal whether the account exists. */
export default function ResetPasswordPage() {
  const { auth } = useServices();
  const [sentTo, setSentTo] = useState<string | null>(null);
  const { field, props } = useAuthForm({ email: checkEmail }, async ({ email }) => {
    const answer = await auth.resetPasswordForEmail(email, { redirectTo: pageAddress() });
    if (!answer.error) setSentTo(email);
    return answer;
  });
  if (sentTo !== null) {
    return <MailSent text={`If an account with ${sentTo} exists, we sent a reset link to that address.`} />;
  }
  return (
    <SessionForm
      title="Reset your password"
      submit="Send reset link"
      {...props}
      links={<FormLink to="/sign-in">Back to sign-in</FormLink>}
    >
      <Text size="sm" c="dimmed">
        We email you a link to set a new password.
      </Text>
      <EmailField {...field("email")} />
    </SessionForm>
  );
}
